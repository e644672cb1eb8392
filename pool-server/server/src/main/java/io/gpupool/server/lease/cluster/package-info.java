// SPDX-License-Identifier: Apache-2.0
/** The part that several servers play for each other's leases: reconciliation, status, drains. */
@NullMarked
package io.gpupool.server.lease.cluster;

import org.jspecify.annotations.NullMarked;
