// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.lease;

import io.gpupool.agent.options.AgentOptions;

/**
 * The services of an agent that its programs share.
 *
 * @param clients connections to pools
 * @param leases leases of programs that have none
 * @param programs the programs of each lease
 */
public record AgentServices(
    AgentOptions options, PoolClients clients, ImplicitLeases leases, LeasePrograms programs) {}
