// SPDX-License-Identifier: Apache-2.0
/** The values of leases, which all that deal with leases share. */
package io.gpupool.server.lease.model;
