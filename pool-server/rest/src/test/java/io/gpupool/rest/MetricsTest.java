// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class MetricsTest {
  private static final Path DOCUMENT =
      Path.of(System.getProperty("gpupool.root")).resolve("docs/metrics.md");
  private static final Pattern ROW = Pattern.compile("\\| `(gpupool_\\w+)` \\| ([^|]*) \\|.*");
  private static final Pattern SAMPLE = Pattern.compile("(\\w+)(?:\\{(.*)})? (\\S+)");

  @Test
  void scrape_ofAPool_hasTheNamesAndLabelsOfTheDocument() throws IOException {
    Map<String, String> documented = new TreeMap<>();
    for (String line : Files.readAllLines(DOCUMENT)) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        documented.put(row.group(1), row.group(2).replace("`", "").strip());
      }
    }
    Map<String, String> scraped = new TreeMap<>();
    Metrics.of(new SamplePool(3).snapshot)
        .lines()
        .filter(line -> !line.startsWith("#"))
        .forEach(line -> {
          Matcher sample = SAMPLE.matcher(line);
          assertThat(sample.matches()).as(line).isTrue();
          String labels = sample.group(2) == null ? "" : sample.group(2);
          scraped.put(sample.group(1), labels.replaceAll("=\"[^\"]*\"", "").replace(",", ", "));
        });
    assertThat(scraped).isNotEmpty().isEqualTo(documented);
  }

  @Test
  void scrape_ofAPool_countsWhatIsThere() {
    assertThat(Metrics.of(new SamplePool(3).snapshot).lines())
        .contains(
            "gpupool_gpu_memory_used_bytes{gpu=\"1\",server=\"gpu-1\"} 2097152.0",
            "gpupool_gpu_memory_bytes{gpu=\"0\",server=\"gpu-1\"} 8.589934592E9",
            "gpupool_gpu_compute_free_ratio{gpu=\"0\",server=\"gpu-1\"} 0.875",
            "gpupool_leases{state=\"grace\"} 2.0",
            "gpupool_leases{state=\"held\"} 1.0",
            "gpupool_queue_requests 1.0",
            "gpupool_queue_wait_max_seconds 2.5",
            "gpupool_server_up_seconds{server=\"gpu-1\",version=\"0.1.0\"} 90.0");
  }
}
