// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.limits;

/**
 * How many requests for leases wait at a server.
 *
 * @param perServer those of all tenants, but that each tenant has at least {@code guaranteed}
 * @param perTenant those that a tenant's own tokens make; one token has half of them
 * @param guaranteed those of a tenant that wait however many others do
 */
public record QueueLimits(int perServer, int perTenant, int guaranteed) {
  public static final QueueLimits USUAL = new QueueLimits(8192, 1024, 16);

  public QueueLimits {
    Bounds.check("--tenant-requests", perTenant, 1, perServer);
  }

  /** Those of one token or login. */
  public int perCaller() {
    return Math.max(1, perTenant / 2);
  }

  /** Those that an admin, such as a cluster's controller, makes for one tenant. */
  public int perTenantByAdmin() {
    return Math.max(perTenant, perServer / 4 * 3);
  }
}
