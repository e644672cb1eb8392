// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.agent.PoolClient;
import io.gpupool.control.v1.VersionReply;
import io.gpupool.control.v1.VersionRequest;
import java.nio.file.Files;
import java.util.Arrays;
import picocli.CommandLine.Command;

/** {@code gpupool health}: can this machine use the pool? */
@Command(name = "health", description = "Checks that this machine can use the pool.")
final class HealthCommand extends PoolCommand {
  private static final int ROUND_TRIPS = 21;

  @Override
  int ask(PoolClient client) throws Exception {
    Table table = new Table("CHECK", "VERDICT", "DETAIL");
    boolean shim = Files.isReadable(Installation.find().shim().resolve("libcuda.so.1"));
    table.row("shim", shim ? "ok" : "MISSING", Installation.find().shim());
    VersionReply version = client.blocking().version(VersionRequest.getDefaultInstance());
    boolean same = version.getVersion().equals(Installation.version());
    table.row(
        "pool " + address(),
        same ? "ok" : "differs",
        version.getServer()
            + ", version "
            + version.getVersion()
            + (same ? "" : "; here it is " + Installation.version()));
    PoolSnapshot pool = PoolSnapshot.of(client);
    table.row(
        "gpus",
        pool.gpus().isEmpty() ? "NONE" : "ok",
        pool.gpus().size() + " on " + pool.servers().size() + " servers");
    table.row("control round trip", "ok", roundTrip(client));
    System.out.print(table);
    return shim && !pool.gpus().isEmpty() ? 0 : 1;
  }

  private static String roundTrip(PoolClient client) {
    long[] nanos = new long[ROUND_TRIPS];
    for (int i = 0; i < ROUND_TRIPS; i++) {
      long start = System.nanoTime();
      VersionReply reply = client.blocking().version(VersionRequest.getDefaultInstance());
      nanos[i] = reply.getServer().isEmpty() ? Long.MAX_VALUE : System.nanoTime() - start;
    }
    Arrays.sort(nanos);
    return "median " + nanos[ROUND_TRIPS / 2] / 1000 + " us";
  }
}
