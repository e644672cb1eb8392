// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.smi;

import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The fields of {@code --query-gpu} and {@code --query-compute-apps}, and their CSV. */
final class SmiFields {
  /** The text of a value that is not measured. */
  static final String NONE = "[N/A]";

  /** A field's value and its unit, which may be none. */
  record Field<T>(String unit, Function<T, Object> value) {}

  /** A program beside its GPU. */
  private record App(SmiGpu gpu, SmiGpu.Process process) {}

  /** Names of fields that NVIDIA's tool has and nothing here measures. */
  private static final Pattern NOT_MEASURED =
      Pattern.compile(
          "(temperature|power|enforced|clocks|clocks_event_reasons|clocks_throttle_reasons|fan|ecc"
              + "|retired_pages|remapped_rows|pcie|encoder|decoder|mig|fabric|inforom|gom|driver_model"
              + "|utilization|protected_memory|c2c|accounting|gsp|platform|hostname)\\..+"
              + "|pstate|serial|gpu_serial|vbios_version|pci\\.(device_id|sub_device_id|baseClass|subClass)");

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy/MM/dd HH:mm:ss.SSS", Locale.ROOT);

  private SmiFields() {}

  private static Map<String, Field<SmiGpu>> ofGpus(int count) {
    Map<String, Field<SmiGpu>> fields = new TreeMap<>();
    fields.put("timestamp", new Field<>("", gpu -> TIME.format(LocalDateTime.now())));
    fields.put("count", new Field<>("", gpu -> count));
    fields.put("index", new Field<>("", SmiGpu::index));
    fields.put("name", new Field<>("", SmiGpu::name));
    fields.put("uuid", new Field<>("", SmiGpu::uuid));
    fields.put("pci.bus_id", new Field<>("", SmiGpu::busId));
    fields.put("compute_cap", new Field<>("", SmiGpu::computeCapability));
    fields.put("driver_version", new Field<>("", SmiGpu::driver));
    fields.put("memory.total", new Field<>("MiB", gpu -> mebibytes(gpu.totalBytes())));
    fields.put("memory.reserved", new Field<>("MiB", gpu -> 0));
    fields.put("memory.used", new Field<>("MiB", gpu -> mebibytes(gpu.usedBytes())));
    fields.put("memory.free", new Field<>("MiB", gpu -> mebibytes(gpu.freeBytes())));
    fields.put("utilization.gpu", new Field<>("%", SmiGpu::utilization));
    fields.putAll(SmiSensors.FIELDS);
    fields.put("compute_mode", new Field<>("", gpu -> "Default"));
    fields.put("persistence_mode", new Field<>("", gpu -> "Enabled"));
    fields.put("display_active", new Field<>("", gpu -> "Disabled"));
    fields.put("display_mode", new Field<>("", gpu -> "Disabled"));
    fields.put("gpu_name", fields.get("name"));
    fields.put("gpu_uuid", fields.get("uuid"));
    fields.put("gpu_bus_id", fields.get("pci.bus_id"));
    return fields;
  }

  private static Map<String, Field<App>> ofApps() {
    Map<String, Field<App>> fields = new TreeMap<>();
    fields.put("timestamp", new Field<>("", app -> TIME.format(LocalDateTime.now())));
    fields.put("gpu_name", new Field<>("", app -> app.gpu.name()));
    fields.put("gpu_bus_id", new Field<>("", app -> app.gpu.busId()));
    fields.put("gpu_uuid", new Field<>("", app -> app.gpu.uuid()));
    fields.put("pid", new Field<>("", app -> app.process.pid()));
    fields.put("process_name", new Field<>("", app -> app.process.name()));
    fields.put("name", fields.get("process_name"));
    fields.put("used_gpu_memory", new Field<>("MiB", app -> mebibytes(app.process.usedBytes())));
    fields.put("used_memory", fields.get("used_gpu_memory"));
    return fields;
  }

  static long mebibytes(long bytes) {
    return bytes >> 20;
  }

  /**
   * One line a GPU.
   *
   * @throws IllegalArgumentException if a field or a form is not one
   */
  static String gpus(List<SmiGpu> gpus, String fields, String format) {
    return csv(ofGpus(gpus.size()), gpus, fields, format);
  }

  /** One line a program and GPU. */
  static String apps(List<SmiGpu> gpus, String fields, String format) {
    List<App> apps =
        gpus.stream()
            .flatMap(gpu -> gpu.processes().stream().map(process -> new App(gpu, process)))
            .toList();
    return csv(ofApps(), apps, fields, format);
  }

  private static <T> String csv(
      Map<String, Field<T>> known, List<T> rows, String names, String format) {
    List<String> forms = Arrays.asList(format.split(","));
    if (!forms.contains("csv") || !List.of("csv", "noheader", "nounits").containsAll(forms)) {
      throw new IllegalArgumentException("--format is csv[,noheader][,nounits], not " + format);
    }
    boolean units = !forms.contains("nounits");
    List<String> heads = new ArrayList<>();
    List<@Nullable Field<T>> fields = new ArrayList<>();
    for (String text : names.split(",")) {
      String name = text.strip();
      Field<T> field = known.get(name);
      if (field == null && !NOT_MEASURED.matcher(name).matches()) {
        throw new IllegalArgumentException(
            "there is no field '"
                + name
                + "' to query; there are "
                + String.join(", ", known.keySet()));
      }
      String unit = field == null ? "" : field.unit;
      heads.add(units && !unit.isEmpty() ? name + " [" + unit + "]" : name);
      fields.add(field);
    }
    StringBuilder csv = new StringBuilder();
    if (!forms.contains("noheader")) {
      csv.append(String.join(", ", heads)).append('\n');
    }
    for (T row : rows) {
      csv.append(String.join(", ", fields.stream().map(field -> cell(field, row, units)).toList()))
          .append('\n');
    }
    return csv.toString();
  }

  private static <T> String cell(@Nullable Field<T> field, T row, boolean units) {
    if (field == null) {
      return NONE;
    }
    String value = field.value.apply(row).toString();
    String unit = field.unit;
    return units && !unit.isEmpty() && !value.equals(NONE) ? value + " " + unit : value;
  }
}
