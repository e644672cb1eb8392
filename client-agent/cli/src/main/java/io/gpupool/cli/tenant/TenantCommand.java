// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.tenant;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.Table;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.DeleteTenantRequest;
import io.gpupool.control.v1.ListTenantsRequest;
import io.gpupool.control.v1.Quota;
import io.gpupool.control.v1.SetQuotaRequest;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.wire.ByteSize;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool tenant}. */
@Command(
    name = "tenant",
    description = "Manages who may use the pool, and how much of it.",
    subcommands = {
      TenantCommand.Listing.class,
      TenantCommand.Create.class,
      TenantCommand.SetQuota.class,
      TenantCommand.Delete.class,
      TokenCommand.class
    },
    synopsisSubcommandLabel = "COMMAND")
public final class TenantCommand {
  /** The limits of a tenant. */
  static final class Limits {
    @Option(
        names = "--gpus",
        paramLabel = "GPUS",
        description = "at most so many GPUs, half of one counting 0.5")
    private @Nullable Double gpus;

    @Option(
        names = "--memory",
        paramLabel = "MEMORY",
        description = "at most so much memory of GPUs, such as 80Gi")
    private @Nullable String memory;

    @Option(names = "--leases", paramLabel = "N", description = "at most so many leases")
    private @Nullable Integer leases;

    @Option(
        names = "--max-priority",
        paramLabel = "NUMBER",
        description = "the highest priority with which it may ask")
    private @Nullable Integer maxPriority;

    Quota message() {
      Quota.Builder quota = Quota.newBuilder();
      if (gpus != null) {
        quota.setGpus(gpus);
      }
      if (memory != null) {
        quota.setMemoryBytes(ByteSize.parse(memory).bytes());
      }
      if (leases != null) {
        quota.setLeases(leases);
      }
      if (maxPriority != null) {
        quota.setMaxPriority(maxPriority);
      }
      return quota.build();
    }
  }

  /** {@code gpupool tenant list}. */
  @Command(name = "list", description = "Lists the tenants, what they may hold and what they hold.")
  static final class Listing extends PoolCommand {
    @Override
    protected int ask(PoolClient client) {
      List<TenantInfo> tenants =
          client.admin().listTenants(ListTenantsRequest.getDefaultInstance()).getTenantsList();
      print(tenants, () -> table(tenants));
      return 0;
    }
  }

  /** {@code gpupool tenant create}. */
  @Command(name = "create", description = "Makes a tenant; what is not limited is free.")
  static final class Create extends PoolCommand {
    @Parameters(index = "0", paramLabel = "NAME", description = "the tenant's name")
    private String name;

    @Mixin private Limits limits;

    @Override
    protected int ask(PoolClient client) {
      TenantInfo made =
          client
              .admin()
              .createTenant(
                  CreateTenantRequest.newBuilder()
                      .setName(name)
                      .setQuota(limits.message())
                      .build());
      print(made, () -> table(List.of(made)));
      return 0;
    }
  }

  /** {@code gpupool tenant quota}. */
  @Command(
      name = "quota",
      description = {
        "Sets what a tenant may hold; what is not given is free. Leases that it has already go on."
      })
  static final class SetQuota extends PoolCommand {
    @Parameters(index = "0", paramLabel = "NAME", description = "the tenant's name")
    private String name;

    @Mixin private Limits limits;

    @Override
    protected int ask(PoolClient client) {
      TenantInfo after =
          client
              .admin()
              .setQuota(
                  SetQuotaRequest.newBuilder().setName(name).setQuota(limits.message()).build());
      print(after, () -> table(List.of(after)));
      return 0;
    }
  }

  /** {@code gpupool tenant delete}. */
  @Command(name = "delete", description = "Deletes a tenant that holds nothing, and its tokens.")
  static final class Delete extends PoolCommand {
    @Parameters(index = "0", paramLabel = "NAME", description = "the tenant's name")
    private String name;

    @Override
    protected int ask(PoolClient client) {
      var reply =
          client.admin().deleteTenant(DeleteTenantRequest.newBuilder().setName(name).build());
      print(reply, () -> "deleted\n");
      return 0;
    }
  }

  private static String table(List<TenantInfo> tenants) {
    Table table = new Table("TENANT", "GPUS", "OF", "MEMORY", "OF", "LEASES", "OF", "PRIORITY");
    for (TenantInfo tenant : tenants) {
      Quota quota = tenant.getQuota();
      table.row(
          tenant.getName(),
          tenant.getUsedGpus(),
          quota.hasGpus() ? quota.getGpus() : "",
          Amounts.bytes(tenant.getUsedMemoryBytes()),
          quota.hasMemoryBytes() ? Amounts.bytes(quota.getMemoryBytes()) : "",
          tenant.getUsedLeases(),
          quota.hasLeases() ? quota.getLeases() : "",
          quota.hasMaxPriority() ? "up to " + quota.getMaxPriority() : "");
    }
    return table.toString();
  }
}
