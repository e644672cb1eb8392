// SPDX-License-Identifier: Apache-2.0
/** The use that leases make of GPU memory and GPU time, in memory shared with the workers. */
@NullMarked
package io.gpupool.server.lease.usage;

import org.jspecify.annotations.NullMarked;
