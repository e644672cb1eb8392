// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.node;

import io.gpupool.agent.Agent;
import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.AgentSockets;
import io.gpupool.agent.options.PodPrograms;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.k8s.command.process.PoolConnections;
import io.gpupool.k8s.identity.PodTokens;
import io.gpupool.k8s.identity.PodTokens.PodToken;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.metrics.ProcessMeters;
import java.io.IOException;
import java.nio.file.Path;

/**
 * The agent that serves the programs of a node's pods, each as its pod. Nothing else of the plugin
 * knows the agent. Started and closed by any thread.
 */
final class NodeAgent implements AutoCloseable {
  private final Agent agent;

  private NodeAgent(Agent agent) {
    this.agent = agent;
  }

  /**
   * Opens the agent's socket.
   *
   * @param pool the pool of all programs
   * @throws IOException if an agent is running there already, or the socket cannot be made
   */
  static NodeAgent start(Path socket, PoolConnections pool, PodTokens tokens) throws IOException {
    AgentOptions options =
        new AgentOptions(
            new AgentSockets(
                new UnixAddress(socket.toString()), ServerSockets.beside(socket).folder()),
            pool.address(),
            null,
            pool.security(),
            LeaseOptions.NOTHING,
            false,
            new PodsOfNode(tokens),
            true);
    return new NodeAgent(Agent.start(options, EventLoops.create("gpupool-agent", 1)));
  }

  /** Shows the agent's meters from now on. */
  void measure(ProcessMeters meters) {
    agent.measure(meters);
  }

  /** Closes the socket and lets go of all programs. */
  @Override
  public void close() {
    agent.close();
  }

  /** The pods of the node, as the agent asks for them. */
  private record PodsOfNode(PodTokens tokens) implements PodPrograms {
    @Override
    public long nowTicks() throws IOException {
      return tokens.nowTicks();
    }

    @Override
    public Pod podOf(int pid, long thereTicks) {
      PodToken pod = tokens.podOf(pid, thereTicks);
      return new Pod(pod.uid(), pod.token());
    }
  }
}
