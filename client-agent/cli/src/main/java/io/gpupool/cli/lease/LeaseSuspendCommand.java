// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.lease;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.GpuPlace;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.Table;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.SuspendLeaseReply;
import io.gpupool.control.v1.SuspendLeaseRequest;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool lease suspend}. */
@Command(
    name = "suspend",
    description = {
      "Suspends a lease of one's own tenant, or as an admin any: what its programs have on the GPU",
      "is saved in files of the server, encrypted, and its share is free for others. Its programs",
      "stand still at their next call until the lease is resumed."
    })
final class LeaseSuspendCommand extends PoolCommand {
  /** Longer than the pool lets it take. */
  private static final long LIMIT_SECONDS = 360;

  @Parameters(index = "0", paramLabel = "LEASE", description = "its id, such as L12")
  private String id;

  @Option(
      names = "--wake-on-call",
      description = "the next call of one of its programs resumes it (else 'lease resume' does)")
  private boolean wakeOnCall;

  @Override
  protected int ask(PoolClient client) {
    SuspendLeaseReply suspended =
        client
            .blocking()
            .withDeadlineAfter(LIMIT_SECONDS, TimeUnit.SECONDS)
            .suspendLease(
                SuspendLeaseRequest.newBuilder().setLeaseId(id).setWakesOnCall(wakeOnCall).build());
    print(suspended, () -> table(suspended));
    return 0;
  }

  private String table(SuspendLeaseReply suspended) {
    Table table = new Table("LEASE", "FREED", "MEMORY", "COMPUTE", "SESSIONS", "BYTES");
    table.row(
        id,
        GpuPlace.of(suspended.getFreed()),
        Amounts.bytes(suspended.getFreed().getMemoryBytes()),
        Amounts.percent(suspended.getFreed().getComputePercent()),
        Integer.toString(suspended.getSessions()),
        Amounts.bytes(suspended.getBytes()));
    return table.toString();
  }
}
