// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

/**
 * The name of a gang in the pool.
 *
 * @param tenant the tenant of its leases; empty: none
 * @param name its name in the tenant
 */
public record GangKey(String tenant, String name) {}
