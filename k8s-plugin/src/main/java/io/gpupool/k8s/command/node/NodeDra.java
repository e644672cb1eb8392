// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.node;

import io.gpupool.k8s.command.process.PoolConnections;
import io.gpupool.k8s.dra.DraPlugin;
import io.grpc.ManagedChannel;
import io.netty.channel.EventLoopGroup;
import java.util.Objects;

/** The part of a node's process that serves resource claims. Started and closed by any thread. */
final class NodeDra implements AutoCloseable {
  private final ManagedChannel pool;
  private final DraPlugin plugin;

  private NodeDra(ManagedChannel pool, DraPlugin plugin) {
    this.pool = pool;
    this.plugin = plugin;
  }

  static NodeDra start(NodeProcess.Setup setup, PoolConnections connections, EventLoopGroup loops)
      throws InterruptedException {
    ManagedChannel pool = connections.openWhenThere();
    return new NodeDra(
        pool,
        DraPlugin.start(
            pool,
            setup.plugin().wiring().container(),
            Objects.requireNonNull(setup.cdiFolder()),
            setup.kubeletFolder(),
            loops));
  }

  @Override
  public void close() {
    plugin.close();
    pool.shutdownNow();
  }
}
