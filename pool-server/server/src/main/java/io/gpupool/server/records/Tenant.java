// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

/**
 * A tenant of the pool.
 *
 * @param createdAtMillis since 1970
 * @param quotaManager the program that keeps the quota as it is, such as a cluster's controller;
 *     empty: none, it was set by hand
 */
public record Tenant(Quota quota, long createdAtMillis, String quotaManager) {
  public Tenant(Quota quota, long createdAtMillis) {
    this(quota, createdAtMillis, "");
  }
}
