// SPDX-License-Identifier: Apache-2.0
/** Requests to suspend and resume leases. */
@NullMarked
package io.gpupool.server.lease.suspend;

import org.jspecify.annotations.NullMarked;
