// SPDX-License-Identifier: Apache-2.0

/** Limits of leases, and those that tenants share a server under. */
package io.gpupool.server.limits;
