// SPDX-License-Identifier: Apache-2.0
/** The run directory, in which a server's process leaves its sessions for the next one. */
@NullMarked
package io.gpupool.server.takeover;

import org.jspecify.annotations.NullMarked;
