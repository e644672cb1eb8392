// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.tenant;

import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.Table;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.AuditLine;
import io.gpupool.control.v1.ListAuditRequest;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code gpupool audit}: the changes that were made, and by whom. */
@Command(name = "audit", description = "Lists who changed what in the pool, the latest first.")
public final class AuditCommand extends PoolCommand {
  @Option(
      names = "--limit",
      paramLabel = "N",
      defaultValue = "100",
      description = "how many lines (default: ${DEFAULT-VALUE}; the pool keeps 10,000)")
  private int limit;

  @Override
  protected int ask(PoolClient client) {
    List<AuditLine> lines =
        client
            .admin()
            .listAudit(ListAuditRequest.newBuilder().setLimit(limit).build())
            .getLinesList();
    print(
        lines,
        () -> {
          Table table = new Table("TIME", "WHO", "WHAT", "OF", "DETAIL");
          for (AuditLine line : lines) {
            table.row(
                TokenCommand.date(line.getAtMillis()),
                line.getActor(),
                line.getAction(),
                line.getSubject(),
                line.getDetail());
          }
          return table.toString();
        });
    return 0;
  }
}
