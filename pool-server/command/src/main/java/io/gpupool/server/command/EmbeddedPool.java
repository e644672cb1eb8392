// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.cli.Installation;
import io.gpupool.cli.run.LocalPool;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.server.PoolServer;
import io.gpupool.server.driver.DriverOptions;
import io.gpupool.server.driver.DriverOptions.Sharing;
import io.gpupool.server.gpu.GpuSpec;
import io.gpupool.server.limits.ServerLimits;
import io.gpupool.server.options.AuthOptions;
import io.gpupool.server.options.GpuOptions;
import io.gpupool.server.options.NameOptions;
import io.gpupool.server.options.PortOptions;
import io.gpupool.server.options.ServerOptions;
import io.gpupool.server.options.StateOptions;
import io.gpupool.server.options.TlsOptions;
import io.gpupool.server.options.WorkerOptions;
import io.gpupool.server.sandbox.SandboxMode;
import io.gpupool.server.sandbox.UserRange;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;

/** A pool-server in this process, on loopback, for as long as one command runs. */
public final class EmbeddedPool implements LocalPool {
  /** The purposes of such pools. */
  public enum Purpose {
    /** One program, mostly one process: a worker is started when one is wanted. */
    program,
    /** Measuring: the next worker is warmed up beforehand, as a server's are. */
    measurement
  }

  private final PoolServer server;

  private EmbeddedPool(PoolServer server) {
    this.server = server;
  }

  /** Starts pools for a purpose. */
  public static Starter starter(Purpose purpose) {
    return options ->
        start(
            purpose,
            new GpuSpec(options.gpus()),
            new DriverOptions(options.libcuda(), null, null, Sharing.timeslice),
            switch (options.missingPtx()) {
              case fail -> GpuOptions.MissingPtx.fail;
              case skip -> GpuOptions.MissingPtx.skip;
            });
  }

  public static EmbeddedPool start(
      Purpose purpose, GpuSpec gpus, DriverOptions driver, GpuOptions.MissingPtx missingPtx)
      throws IOException {
    PoolServer server =
        PoolServer.start(
            new ServerOptions(
                new GpuOptions(gpus, driver, missingPtx, Map.of()),
                new PortOptions(
                    InetAddress.getByName("127.0.0.1"),
                    0,
                    0,
                    LocalSocketServerOptions.ofEnvironment()),
                NameOptions.DEFAULT,
                StateOptions.IN_MEMORY,
                TlsOptions.NONE,
                AuthOptions.NONE,
                new WorkerOptions(
                    WorkerProgram.of(
                        Installation.find(), SandboxMode.BEST_EFFORT, UserRange.DEFAULT, List.of()),
                    1,
                    purpose == Purpose.measurement),
                ServerLimits.DEFAULT));
    System.err.println(
        "gpupool: no pool is configured (--pool or GPUPOOL_POOL): serving from this process: "
            + server.summary());
    return new EmbeddedPool(server);
  }

  @Override
  public PoolAddress address() {
    return new PoolAddress("127.0.0.1", server.controlPort());
  }

  @Override
  public void close() {
    server.close();
  }
}
