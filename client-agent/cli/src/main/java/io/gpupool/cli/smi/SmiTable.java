// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.smi;

import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;

/** The forms in which NVIDIA's tool shows GPUs, which people and scripts know. */
final class SmiTable {
  private static final String LINE = "-".repeat(89);
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("EEE MMM d HH:mm:ss yyyy", Locale.ROOT);

  private SmiTable() {}

  /** Everything at a glance. */
  static String overview(List<SmiGpu> gpus, String version) {
    StringBuilder text = new StringBuilder();
    line(text, TIME.format(LocalDateTime.now()));
    line(text, "+%s+", LINE);
    line(
        text,
        "| GPUPOOL-SMI %-21s Driver Version: %-14s CUDA Version: %-8s |",
        version,
        gpus.isEmpty() ? "N/A" : gpus.getFirst().driver(),
        cuda(gpus));
    line(text, "+%s+%s+%s+", "-".repeat(41), "-".repeat(24), "-".repeat(22));
    line(
        text,
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC"
            + " |");
    line(
        text,
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M."
            + " |");
    line(
        text,
        "|                                         |                        |               MIG M."
            + " |");
    line(text, "|%s+%s+%s|", "=".repeat(41), "=".repeat(24), "=".repeat(22));
    for (SmiGpu gpu : gpus) {
      line(
          text,
          "| %3d  %-27.27s     On |   %-16s Off | %20s |",
          gpu.index(),
          gpu.name(),
          gpu.busId(),
          SmiSensors.uncorrectedErrors(gpu.card()));
      line(
          text,
          "| %3s  %4s    %-3s%16s / %4s | %22s | %6d%%      Default |",
          SmiSensors.fan(gpu.card()),
          SmiSensors.temperature(gpu.card()),
          SmiSensors.performanceState(gpu.card()),
          SmiSensors.power(gpu.card()),
          SmiSensors.powerLimit(gpu.card()),
          "%7dMiB / %6dMiB"
              .formatted(
                  SmiFields.mebibytes(gpu.usedBytes()), SmiFields.mebibytes(gpu.totalBytes())),
          gpu.utilization());
      line(
          text,
          "|                                         |                        |                 "
              + " N/A |");
      line(text, "+%s+%s+%s+", "-".repeat(41), "-".repeat(24), "-".repeat(22));
    }
    processes(text.append('\n'), gpus);
    return text.toString();
  }

  private static void processes(StringBuilder text, List<SmiGpu> gpus) {
    line(text, "+%s+", LINE);
    line(text, "| %-87s |", "Processes:");
    line(
        text,
        "| %-87s |",
        " GPU   GI   CI              PID   Type   Process name                        GPU Memory");
    line(
        text,
        "| %-87s |",
        "       ID   ID                                                               Usage");
    line(text, "|%s|", "=".repeat(89));
    boolean any = false;
    for (SmiGpu gpu : gpus) {
      for (SmiGpu.Process process : gpu.processes()) {
        any = true;
        line(
            text,
            "| %4d   N/A  N/A %16d      C   %-28.28s %16s |",
            gpu.index(),
            process.pid(),
            process.name(),
            SmiFields.mebibytes(process.usedBytes()) + "MiB");
      }
    }
    if (!any) {
      line(text, "| %-87s |", " No running processes found");
    }
    line(text, "+%s+", LINE);
  }

  /** One line a GPU, as {@code -L} has it. */
  static String list(List<SmiGpu> gpus) {
    StringBuilder text = new StringBuilder();
    for (SmiGpu gpu : gpus) {
      line(text, "GPU %d: %s (UUID: %s)", gpu.index(), gpu.name(), gpu.uuid());
    }
    return text.toString();
  }

  /** Writes everything that is known, in the form of {@code -q}. */
  static String details(List<SmiGpu> gpus) {
    StringBuilder text = new StringBuilder();
    line(text, "%n==============GPUPOOL SMI LOG==============%n");
    pair(text, 0, "Timestamp", TIME.format(LocalDateTime.now()));
    pair(text, 0, "Driver Version", gpus.isEmpty() ? "N/A" : gpus.getFirst().driver());
    pair(text, 0, "CUDA Version", cuda(gpus));
    line(text, "");
    pair(text, 0, "Attached GPUs", gpus.size());
    for (SmiGpu gpu : gpus) {
      line(text, "GPU %s", gpu.busId());
      pair(text, 4, "Product Name", gpu.name());
      pair(text, 4, "Display Mode", "Disabled");
      pair(text, 4, "Persistence Mode", "Enabled");
      pair(text, 4, "Serial Number", "N/A");
      pair(text, 4, "GPU UUID", gpu.uuid());
      pair(text, 4, "Minor Number", gpu.index());
      line(text, "    PCI");
      pair(text, 8, "Bus Id", gpu.busId());
      line(text, "    FB Memory Usage");
      pair(text, 8, "Total", SmiFields.mebibytes(gpu.totalBytes()) + " MiB");
      pair(text, 8, "Reserved", "0 MiB");
      pair(text, 8, "Used", SmiFields.mebibytes(gpu.usedBytes()) + " MiB");
      pair(text, 8, "Free", SmiFields.mebibytes(gpu.freeBytes()) + " MiB");
      pair(text, 4, "Compute Mode", "Default");
      line(text, "    Utilization");
      pair(text, 8, "GPU", gpu.utilization() + " %");
      sensors(text, gpu);
      line(text, "    Processes%s", gpu.processes().isEmpty() ? " ".repeat(34) + ": None" : "");
      for (SmiGpu.Process process : gpu.processes()) {
        pair(text, 8, "Process ID", process.pid());
        pair(text, 12, "Type", "C");
        pair(text, 12, "Name", process.name());
        pair(text, 12, "Used GPU Memory", SmiFields.mebibytes(process.usedBytes()) + " MiB");
      }
    }
    return text.toString();
  }

  /** Writes the card's measurements, where it has some. */
  private static void sensors(StringBuilder text, SmiGpu gpu) {
    pair(text, 4, "Fan Speed", query(gpu, "fan.speed"));
    pair(text, 4, "Performance State", query(gpu, "pstate"));
    line(text, "    ECC Errors");
    pair(text, 8, "Volatile Corrected", query(gpu, "ecc.errors.corrected.volatile.total"));
    pair(text, 8, "Volatile Uncorrected", query(gpu, "ecc.errors.uncorrected.volatile.total"));
    line(text, "    Temperature");
    pair(text, 8, "GPU Current Temp", query(gpu, "temperature.gpu"));
    line(text, "    GPU Power Readings");
    pair(text, 8, "Power Draw", query(gpu, "power.draw"));
    pair(text, 8, "Current Power Limit", query(gpu, "power.limit"));
    line(text, "    Clocks");
    pair(text, 8, "Graphics", query(gpu, "clocks.gr"));
    pair(text, 8, "SM", query(gpu, "clocks.sm"));
    pair(text, 8, "Memory", query(gpu, "clocks.mem"));
    pair(text, 8, "Video", query(gpu, "clocks.video"));
  }

  private static String query(SmiGpu gpu, String field) {
    String value = SmiFields.gpus(List.of(gpu), field, "csv,noheader").strip();
    return value.equals(SmiFields.NONE) ? "N/A" : value;
  }

  private static String cuda(List<SmiGpu> gpus) {
    int version = gpus.stream().mapToInt(SmiGpu::cuda).min().orElse(0);
    return version / 1000 + "." + version % 1000 / 10;
  }

  private static void pair(StringBuilder text, int indent, String name, Object value) {
    line(text, "%-47s: %s", " ".repeat(indent) + name, value);
  }

  private static void line(StringBuilder text, String format, Object... values) {
    text.append(String.format(Locale.ROOT, format, values)).append('\n');
  }
}
