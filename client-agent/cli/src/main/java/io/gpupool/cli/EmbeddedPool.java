// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.agent.PoolAddress;
import io.gpupool.server.GpuSpec;
import io.gpupool.server.PoolServer;
import io.gpupool.server.ServerOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.Optional;

/** A pool-server in this process, on loopback, for one program. */
final class EmbeddedPool implements AutoCloseable {
  private final PoolServer server;

  private EmbeddedPool(PoolServer server) {
    this.server = server;
  }

  static EmbeddedPool start(Installation installation, GpuSpec gpus, Optional<String> libcuda)
      throws IOException {
    PoolServer server =
        PoolServer.start(
            new ServerOptions(
                gpus,
                InetAddress.getByName("127.0.0.1"),
                0,
                0,
                Optional.empty(),
                Optional.of(ServerOptions.Auth.none),
                Optional.empty(),
                libcuda.map(Path::of),
                1,
                false,
                ServerOptions.MissingPtx.fail,
                installation.worker()));
    System.err.println(
        "gpupool: no pool is configured (--pool or GPUPOOL_POOL): serving from this process: "
            + server.summary());
    return new EmbeddedPool(server);
  }

  PoolAddress address() {
    return new PoolAddress("127.0.0.1", server.controlPort());
  }

  @Override
  public void close() {
    server.close();
  }
}
