// SPDX-License-Identifier: Apache-2.0
/** What a server's process leaves in its run directory for the next one. */
@NullMarked
package io.gpupool.server.takeover;

import org.jspecify.annotations.NullMarked;
