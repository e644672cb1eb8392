// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.limits;

/**
 * The limits on the lease requests that wait at a server.
 *
 * @param perServer requests of all tenants, but each tenant may always have {@code guaranteed}
 * @param perTenant requests that a tenant's own tokens make; one token gets half of them
 * @param guaranteed requests of a tenant that may wait no matter how many others do
 */
public record QueueLimits(int perServer, int perTenant, int guaranteed) {
  public static final QueueLimits DEFAULT = new QueueLimits(8192, 1024, 16);

  public QueueLimits {
    Bounds.check("--tenant-requests", perTenant, 1, perServer);
  }

  /** Those of one principal. */
  public int perCaller() {
    return Math.max(1, perTenant / 2);
  }

  /** Those that an admin, such as a cluster's controller, makes for one tenant. */
  public int perTenantByAdmin() {
    return Math.max(perTenant, perServer / 4 * 3);
  }
}
