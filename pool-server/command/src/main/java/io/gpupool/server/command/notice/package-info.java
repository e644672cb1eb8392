// SPDX-License-Identifier: Apache-2.0
/**
 * Notices that this machine is about to be taken away: files, and the clouds' metadata services.
 */
@NullMarked
package io.gpupool.server.command.notice;

import org.jspecify.annotations.NullMarked;
