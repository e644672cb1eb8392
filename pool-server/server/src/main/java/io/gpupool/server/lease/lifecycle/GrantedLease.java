// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.server.identity.LeaseSecret;

/** A lease that has just been granted, with its secret, which nobody can tell later. */
public record GrantedLease(Lease lease, LeaseSecret secret) {}
