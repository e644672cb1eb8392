// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.partition;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.ComputeOption;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.Table;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.CreatePartitionRequest;
import io.gpupool.control.v1.DeletePartitionRequest;
import io.gpupool.control.v1.ListPartitionsRequest;
import io.gpupool.control.v1.PartitionInfo;
import io.gpupool.control.v1.PartitionRef;
import io.gpupool.control.v1.PartitionSize;
import io.gpupool.control.v1.ResizePartitionRequest;
import io.gpupool.wire.ByteSize;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool partition}. */
@Command(
    name = "partition",
    description = "Cuts GPUs into named partitions, while they are in use.",
    subcommands = {
      PartitionCommand.Listing.class,
      PartitionCommand.Create.class,
      PartitionCommand.Resize.class,
      PartitionCommand.Delete.class
    },
    synopsisSubcommandLabel = "COMMAND")
public final class PartitionCommand {
  /** Which partition. */
  static final class Place {
    @Parameters(
        index = "0",
        paramLabel = "[SERVER/]GPU/NAME",
        description = "the GPU's number on its server, and the partition's name: 0/training")
    private String text;

    PartitionRef ref() {
      String[] parts = text.split("/", -1);
      if (parts.length < 2 || parts.length > 3) {
        throw wrong();
      }
      PartitionRef.Builder ref = PartitionRef.newBuilder().setName(parts[parts.length - 1]);
      if (parts.length == 3) {
        ref.setServer(parts[0]);
      }
      try {
        return ref.setGpu(Integer.parseUnsignedInt(parts[parts.length - 2])).build();
      } catch (NumberFormatException e) {
        throw wrong();
      }
    }

    private IllegalArgumentException wrong() {
      return new IllegalArgumentException(
          "'" + text + "' names no partition; write [SERVER/]GPU/NAME, such as 0/training");
    }
  }

  /** The size of a partition. */
  static final class Size {
    @Option(
        names = {"-m", "--memory"},
        paramLabel = "MEMORY",
        description = "memory, such as 8Gi")
    private @Nullable String memory;

    @Option(
        names = "--compute",
        paramLabel = "PERCENT",
        description = "part of the GPU's time (default of create: as much as of its memory)")
    private @Nullable Double compute;

    PartitionSize message() {
      PartitionSize.Builder size = PartitionSize.newBuilder();
      if (memory != null) {
        size.setMemoryBytes(ByteSize.parse(memory).bytes());
      }
      if (compute != null) {
        size.setComputePercent(ComputeOption.checked(compute));
      }
      return size.build();
    }
  }

  /** {@code gpupool partition list}. */
  @Command(name = "list", description = "Lists the partitions of the pool's GPUs.")
  static final class Listing extends PoolCommand {
    @Override
    protected int ask(PoolClient client) {
      List<PartitionInfo> partitions =
          client
              .admin()
              .listPartitions(ListPartitionsRequest.getDefaultInstance())
              .getPartitionsList();
      print(partitions, () -> table(partitions));
      return 0;
    }
  }

  /** {@code gpupool partition create}. */
  @Command(name = "create", description = "Cuts a partition off a GPU.")
  static final class Create extends PoolCommand {
    @Mixin private Place place;
    @Mixin private Size size;

    @Option(
        names = "--hard",
        description =
            "its leases never get more compute than their share, even if the rest is idle")
    private boolean hard;

    @Option(
        names = "--for",
        paramLabel = "TENANT",
        description = "reserves it for this tenant; may be repeated (default: for all)")
    private List<String> tenants = List.of();

    @Override
    protected int ask(PoolClient client) {
      PartitionInfo made =
          client
              .admin()
              .createPartition(
                  CreatePartitionRequest.newBuilder()
                      .setRef(place.ref())
                      .setSize(size.message())
                      .setHard(hard)
                      .addAllTenants(tenants)
                      .build());
      print(made, () -> table(List.of(made)));
      return 0;
    }
  }

  /** {@code gpupool partition resize}. */
  @Command(
      name = "resize",
      description = {
        "Makes a partition larger, at once, or smaller, unless its leases have more than would be",
        "left. What is not given stays as it is."
      })
  static final class Resize extends PoolCommand {
    @Mixin private Place place;
    @Mixin private Size size;

    @Option(names = "--wait", description = "shrinks it as its leases end, instead of refusing")
    private boolean wait;

    @Override
    protected int ask(PoolClient client) {
      PartitionInfo after =
          client
              .admin()
              .resizePartition(
                  ResizePartitionRequest.newBuilder()
                      .setRef(place.ref())
                      .setSize(size.message())
                      .setWait(wait)
                      .build());
      print(after, () -> table(List.of(after)));
      return 0;
    }
  }

  /** {@code gpupool partition delete}. */
  @Command(name = "delete", description = "Gives a partition back to the rest of its GPU.")
  static final class Delete extends PoolCommand {
    @Mixin private Place place;

    @Option(
        names = "--wait",
        description = "grants no more from it, and deletes it when its last lease ends")
    private boolean wait;

    @Override
    protected int ask(PoolClient client) {
      var reply =
          client
              .admin()
              .deletePartition(
                  DeletePartitionRequest.newBuilder().setRef(place.ref()).setWait(wait).build());
      print(
          reply,
          () ->
              reply.getGone()
                  ? "deleted\n"
                  : "grants no more, and is deleted when its last lease ends\n");
      return 0;
    }
  }

  private static String table(List<PartitionInfo> partitions) {
    Table table =
        new Table(
            "PARTITION", "MEMORY", "LEASED", "COMPUTE", "LEASED", "KIND", "FOR", "LEASES", "STATE");
    for (PartitionInfo partition : partitions) {
      PartitionRef ref = partition.getRef();
      table.row(
          ref.getServer() + "/" + ref.getGpu() + "/" + ref.getName(),
          Amounts.bytes(partition.getSize().getMemoryBytes()),
          Amounts.bytes(partition.getLeased().getMemoryBytes()),
          Amounts.percent(partition.getSize().getComputePercent()),
          Amounts.percent(partition.getLeased().getComputePercent()),
          partition.getHard() ? "hard" : "lendable",
          partition.getTenantsCount() == 0 ? "all" : String.join(",", partition.getTenantsList()),
          String.join(",", partition.getLeasesList()),
          state(partition));
    }
    return table.toString();
  }

  private static String state(PartitionInfo partition) {
    if (partition.getLeaving()) {
      return "going with its leases";
    }
    return partition.hasTarget()
        ? "shrinking to "
            + Amounts.bytes(partition.getTarget().getMemoryBytes())
            + ", "
            + Amounts.percent(partition.getTarget().getComputePercent())
        : "";
  }
}
