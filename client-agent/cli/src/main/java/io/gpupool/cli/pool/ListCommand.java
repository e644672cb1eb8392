// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.pool;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.PoolSnapshot;
import io.gpupool.cli.Table;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.json.JsonForm;
import picocli.CommandLine.Command;

/** {@code gpupool list}: the GPUs of the pool and the parts of each that are free. */
@Command(
    name = "list",
    description =
        "Lists the GPUs of the pool (with --output json: servers, leases and sessions, too).")
public final class ListCommand extends PoolCommand {
  @Override
  protected int ask(PoolClient client) {
    PoolSnapshot pool = PoolSnapshot.of(client);
    if (json()) {
      System.out.println(JsonForm.text(pool.json()));
      return 0;
    }
    Table table =
        new Table("GPU", "NAME", "CC", "DRIVER", "MEMORY", "FREE", "COMPUTE FREE", "UUID");
    for (GpuInfo gpu : pool.gpus()) {
      table.row(
          gpu.getServer() + "/" + gpu.getGpu(),
          gpu.getName(),
          gpu.getComputeCapability(),
          gpu.getDriverVersion() / 1000 + "." + gpu.getDriverVersion() % 1000 / 10,
          Amounts.bytes(gpu.getMemoryBytes()),
          FreeText.memory(gpu),
          FreeText.compute(gpu),
          gpu.getUuid());
    }
    System.out.print(table);
    return 0;
  }
}
