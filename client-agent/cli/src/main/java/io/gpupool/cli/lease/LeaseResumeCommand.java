// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.lease;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.GpuPlace;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.Table;
import io.gpupool.client.PoolClient;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.control.v1.ResumeLeaseReply;
import io.gpupool.control.v1.ResumeLeaseRequest;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool lease resume}. */
@Command(
    name = "resume",
    description = {
      "Resumes a suspended lease of one's own tenant, or as an admin any: it waits in the queue for",
      "a share of a GPU like the one it had, and its programs go on."
    })
final class LeaseResumeCommand extends PoolCommand {
  private static final long SPARE_SECONDS = 30;

  @Parameters(index = "0", paramLabel = "LEASE", description = "its id, such as L12")
  private String id;

  @Option(
      names = "--wait",
      paramLabel = "DURATION",
      defaultValue = "5m",
      description = {
        "how long to wait for room, such as 30s, 10m (default: 5m); the lease goes on waiting after",
        "that"
      })
  private String wait;

  @Override
  protected int ask(PoolClient client) {
    Duration limit = LeaseOptions.duration(wait);
    ResumeLeaseReply resumed =
        client
            .blocking()
            .withDeadlineAfter(limit.toSeconds() + SPARE_SECONDS, TimeUnit.SECONDS)
            .resumeLease(
                ResumeLeaseRequest.newBuilder()
                    .setLeaseId(id)
                    .setWaitMillis(limit.toMillis())
                    .build());
    print(resumed, () -> table(resumed));
    return 0;
  }

  private String table(ResumeLeaseReply resumed) {
    Table table = new Table("LEASE", "GPU", "MEMORY", "COMPUTE", "SESSIONS");
    table.row(
        id,
        GpuPlace.of(resumed.getGrant()),
        Amounts.bytes(resumed.getGrant().getMemoryBytes()),
        Amounts.percent(resumed.getGrant().getComputePercent()),
        Integer.toString(resumed.getSessions()));
    return table.toString();
  }
}
