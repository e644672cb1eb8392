// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.pool;

import io.gpupool.cli.GpuPlace;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.PoolSnapshot;
import io.gpupool.cli.Table;
import io.gpupool.cli.table.ColumnTable;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.Column;
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
    System.out.print(gpus(pool));
    return 0;
  }

  static Table gpus(PoolSnapshot pool) {
    return ColumnTable.of(Column.View.VIEW_LIST, GpuInfo.getDefaultInstance())
        .column("GPU", GpuPlace::of)
        .declared("NAME", "CC")
        .column("DRIVER", gpu -> driver(gpu.getDriverVersion()))
        .declared("MEMORY")
        .column("FREE", FreeText::memory)
        .column("COMPUTE FREE", FreeText::compute)
        .declared("UUID")
        .table(pool.gpus());
  }

  private static String driver(int version) {
    return version / 1000 + "." + version % 1000 / 10;
  }
}
