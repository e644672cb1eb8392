// SPDX-License-Identifier: Apache-2.0
/** The part that several servers play for each other's leases: reconciliation, status, drains. */
package io.gpupool.server.lease.cluster;
