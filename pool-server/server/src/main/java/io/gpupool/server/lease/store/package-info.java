// SPDX-License-Identifier: Apache-2.0
/** The records of leases and queued requests, and the commits that change them. */
@NullMarked
package io.gpupool.server.lease.store;

import org.jspecify.annotations.NullMarked;
