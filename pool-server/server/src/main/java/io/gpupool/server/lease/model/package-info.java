// SPDX-License-Identifier: Apache-2.0
/** The values of leases, which all that deal with leases share. */
@NullMarked
package io.gpupool.server.lease.model;

import org.jspecify.annotations.NullMarked;
