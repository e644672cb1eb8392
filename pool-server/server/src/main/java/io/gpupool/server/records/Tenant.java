// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

/**
 * A tenant of the pool.
 *
 * @param createdAtMillis since 1970
 */
public record Tenant(Quota quota, long createdAtMillis) {}
