// SPDX-License-Identifier: Apache-2.0

/** Limits of leases, and those that tenants share a server under. */
@NullMarked
package io.gpupool.server.limits;

import org.jspecify.annotations.NullMarked;
