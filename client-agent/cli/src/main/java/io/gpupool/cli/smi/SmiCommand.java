// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.smi;

import com.google.gson.JsonObject;
import io.gpupool.cli.Environment;
import io.gpupool.cli.Installation;
import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.PoolSnapshot;
import io.gpupool.client.PoolClient;
import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.control.v1.DescribeLeaseRequest;
import io.gpupool.json.JsonForm;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code gpupool smi}: the GPUs of this lease, or of the pool, in the forms of nvidia-smi. */
@Command(
    name = "smi",
    description = {
      "Shows GPUs as nvidia-smi does: under 'gpupool run' those of the lease, else those of the"
          + " pool."
    })
public final class SmiCommand extends PoolCommand {
  @Option(
      names = {"-L", "--list-gpus"},
      description = "one line a GPU")
  private boolean list;

  @Option(
      names = {"-q", "--query"},
      description = "all that is known")
  private boolean details;

  @Option(
      names = {"-i", "--id"},
      paramLabel = "ID",
      description = "only this GPU: its index, UUID or PCI bus number")
  private @Nullable String id;

  @Option(
      names = "--query-gpu",
      paramLabel = "FIELD[,FIELD]",
      description = "these fields of each GPU, such as index,name,memory.used,utilization.gpu")
  private @Nullable String gpuFields;

  @Option(
      names = "--query-compute-apps",
      paramLabel = "FIELD[,FIELD]",
      description = "these fields of each program, such as pid,process_name,used_memory")
  private @Nullable String appFields;

  @Option(
      names = "--format",
      paramLabel = "csv[,noheader][,nounits]",
      description = "of the fields",
      defaultValue = "csv")
  private String format = "csv";

  @Override
  protected int ask(PoolClient client) {
    Optional<String> ticket = Environment.variable("GPUPOOL_LEASE");
    if (ticket.isPresent()) {
      DescribeLeaseReply lease = client.blocking().describeLease(request(ticket.get()));
      show(SmiGpu.of(lease), () -> JsonForm.of(lease));
    } else {
      PoolSnapshot pool = PoolSnapshot.of(client);
      show(SmiGpu.of(pool), pool::json);
    }
    return 0;
  }

  private static DescribeLeaseRequest request(String ticket) {
    int dot = ticket.indexOf('.');
    if (dot < 0) {
      throw new IllegalArgumentException("GPUPOOL_LEASE is not ID.SECRET; was it cut off?");
    }
    return DescribeLeaseRequest.newBuilder()
        .setLeaseId(ticket.substring(0, dot))
        .setSecret(ticket.substring(dot + 1))
        .build();
  }

  private void show(List<SmiGpu> all, Supplier<JsonObject> json) {
    List<SmiGpu> gpus = all.stream().filter(this::isWanted).toList();
    if (id != null && gpus.isEmpty()) {
      throw new IllegalArgumentException("there is no GPU " + id + " among " + all.size());
    }
    print(json, () -> text(gpus));
  }

  private boolean isWanted(SmiGpu gpu) {
    return id == null
        || id.equals(Integer.toString(gpu.index()))
        || id.equalsIgnoreCase(gpu.uuid())
        || id.equalsIgnoreCase(gpu.busId());
  }

  private String text(List<SmiGpu> gpus) {
    if (gpuFields != null) {
      return SmiFields.gpus(gpus, gpuFields, format);
    }
    if (appFields != null) {
      return SmiFields.apps(gpus, appFields, format);
    }
    if (list) {
      return SmiTable.list(gpus);
    }
    return details ? SmiTable.details(gpus) : SmiTable.overview(gpus, Installation.version());
  }
}
