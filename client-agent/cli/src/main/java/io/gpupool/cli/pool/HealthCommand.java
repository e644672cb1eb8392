// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.pool;

import io.gpupool.cli.GpuPlace;
import io.gpupool.cli.Installation;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.PoolSnapshot;
import io.gpupool.cli.pool.Checks.Verdict;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.VersionReply;
import io.gpupool.control.v1.VersionRequest;
import io.gpupool.json.JsonForm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import picocli.CommandLine.Command;

/** {@code gpupool health}: checks whether this machine can use the pool. */
@Command(name = "health", description = "Checks that this machine can use the pool.")
public final class HealthCommand extends PoolCommand {
  private static final int ROUND_TRIPS = 21;
  private static final long SLOW_MICROS = 5000;

  @Override
  protected int ask(PoolClient client) throws Exception {
    Path shim = Installation.find().shim().resolve("libcuda.so.1");
    Checks checks = new Checks();
    checks.add(
        "shim",
        Files.isReadable(shim) ? Verdict.OK : Verdict.FAIL,
        shim.toString(),
        "install gpupool anew: its library is missing");
    VersionReply version = client.blocking().version(VersionRequest.getDefaultInstance());
    boolean same = version.getVersion().equals(Installation.version());
    checks.add(
        "pool " + address(),
        same ? Verdict.OK : Verdict.WARN,
        version.getServer() + ", version " + version.getVersion(),
        "here it is " + Installation.version() + "; install the same version on both sides");
    PoolSnapshot pool = PoolSnapshot.of(client);
    checks.add(
        "gpus",
        pool.gpus().isEmpty() ? Verdict.FAIL : Verdict.OK,
        pool.gpus().size() + " on " + servers(pool.servers().size()),
        "start 'gpupool server' on a machine with GPUs");
    for (ServerInfo server : pool.servers()) {
      checks.add(
          "server " + server.getName(),
          server.getState() == ServerInfo.State.STATE_READY ? Verdict.OK : Verdict.WARN,
          JsonForm.text(server.getState()) + ", " + server.getBackend(),
          "it grants no leases; 'gpupool server uncordon' puts it back");
    }
    for (GpuInfo gpu : pool.gpus()) {
      if (!gpu.getProblem().isEmpty()) {
        checks.add(
            "gpu " + GpuPlace.of(gpu),
            Verdict.WARN,
            JsonForm.text(gpu.getHealth()) + ": " + gpu.getProblem(),
            "nothing of it is granted until it has rested and passed a trial");
      }
    }
    long roundTripMicros = roundTripMicros(client);
    checks.add(
        "control round trip",
        roundTripMicros < SLOW_MICROS ? Verdict.OK : Verdict.WARN,
        "median " + roundTripMicros + " us",
        "the network is slow for CUDA calls: run programs nearer to the servers");
    LocalChecks.run(checks);
    System.out.print(checks.table());
    return checks.failed() ? 1 : 0;
  }

  private static long roundTripMicros(PoolClient client) {
    long[] nanos = new long[ROUND_TRIPS];
    for (int i = 0; i < ROUND_TRIPS; i++) {
      long start = System.nanoTime();
      VersionReply reply = client.blocking().version(VersionRequest.getDefaultInstance());
      nanos[i] = reply.getServer().isEmpty() ? Long.MAX_VALUE : System.nanoTime() - start;
    }
    Arrays.sort(nanos);
    return nanos[ROUND_TRIPS / 2] / 1000;
  }

  private static String servers(int count) {
    return count + (count == 1 ? " server" : " servers");
  }
}
