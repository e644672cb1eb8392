// SPDX-License-Identifier: Apache-2.0
/** Requests to move leases to other GPUs. */
@NullMarked
package io.gpupool.server.lease.move;

import org.jspecify.annotations.NullMarked;
