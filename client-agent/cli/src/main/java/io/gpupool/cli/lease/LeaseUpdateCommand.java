// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.lease;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.ClassOptions;
import io.gpupool.cli.ComputeOption;
import io.gpupool.cli.GpuPlace;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.Table;
import io.gpupool.client.PoolClient;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.UpdateLeaseRequest;
import io.gpupool.json.JsonForm;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool lease update}. */
@Command(
    name = "update",
    description = {
      "Changes a lease of one's own tenant, or as an admin any, while its programs run: its share"
          + " of",
      "its GPUs' time, whether it may have more of that, and its class. What is not given stays."
    })
final class LeaseUpdateCommand extends PoolCommand {
  @Parameters(index = "0", paramLabel = "LEASE", description = "its id, such as L12")
  private String id;

  @Option(
      names = "--compute",
      paramLabel = "PERCENT",
      description = "the part of each of its GPUs' time, 1 to 100")
  private @Nullable Double compute;

  @Option(
      names = "--hard",
      description = "no more of a GPU's time than that, even if the rest of it is idle")
  private boolean hard;

  @Option(names = "--lendable", description = "more of a GPU's time than that while it is idle")
  private boolean lendable;

  @Option(
      names = "--class",
      paramLabel = "batch|latency",
      description = "what its programs do; those of class latency serve requests")
  private ClassOptions.@Nullable LeaseClass named;

  @Option(names = "--latency", description = "short for --class latency")
  private boolean latency;

  @Override
  protected int ask(PoolClient client) {
    LeaseInfo lease = client.blocking().updateLease(request());
    print(lease, () -> table(lease));
    return 0;
  }

  /**
   * Returns the change that the options describe.
   *
   * @throws IllegalArgumentException if that cannot be, or is nothing
   */
  private UpdateLeaseRequest request() {
    if (hard && lendable) {
      throw new IllegalArgumentException(
          "--hard keeps a lease from time that is idle, --lendable lets it have that; give one");
    }
    UpdateLeaseRequest.Builder request = UpdateLeaseRequest.newBuilder().setLeaseId(id);
    if (compute != null) {
      request.setComputePercent(ComputeOption.checked(compute));
    }
    if (hard || lendable) {
      request.setHard(hard);
    }
    ClassOptions.name(named, latency)
        .ifPresent(text -> request.setClass_(LeaseOptions.leaseClass(text)));
    if (request.build().equals(UpdateLeaseRequest.newBuilder().setLeaseId(id).build())) {
      throw new IllegalArgumentException(
          "nothing is to be changed; give --compute, --hard or --lendable, --class or --latency");
    }
    return request.build();
  }

  private static String table(LeaseInfo lease) {
    Table table = new Table("LEASE", "GPU", "MEMORY", "COMPUTE", "KIND", "CLASS");
    for (GrantUse use : lease.getGrantsList()) {
      table.row(
          lease.getId(),
          GpuPlace.of(use.getGrant()),
          Amounts.bytes(use.getGrant().getMemoryBytes()),
          Amounts.percent(use.getGrant().getComputePercent()),
          use.getGrant().getHard() ? "hard" : "lendable",
          JsonForm.text(lease.getClass_()));
    }
    return table.toString();
  }
}
