// SPDX-License-Identifier: Apache-2.0
/** Leases from the queue to their end. */
package io.gpupool.server.lease;
