// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.rest.SamplePool;
import io.gpupool.server.metrics.ServerMetrics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class PoolMetersTest {
  private static final Path DOCUMENT =
      Path.of(System.getProperty("gpupool.root")).resolve("docs/reference/metrics.md");
  // Those of agents and of gpupool-k8s are not a server's.
  private static final Pattern ROW =
      Pattern.compile(
          "\\| `(gpupool_(?!k8s_|agent_)\\w+)` \\| (\\w+) \\| ([^|]*) \\| ([^|]*) \\|.*");
  private static final Pattern TYPE = Pattern.compile("# TYPE (\\w+) (\\w+)");
  private static final Pattern SAMPLE = Pattern.compile("(\\w+)(?:\\{(.*)})? (\\S+)");

  /** Base units, which end a metric's name. */
  private static final List<String> UNITS =
      List.of("seconds", "bytes", "ratio", "celsius", "watts", "hertz");

  @Test
  void scrape_ofAPool_hasTheNamesTypesAndLabelsOfTheDocument() throws IOException {
    Map<String, String> documented = new TreeMap<>();
    for (String line : Files.readAllLines(DOCUMENT)) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        documented.put(row.group(1), row.group(2) + " " + row.group(4).replace("`", "").strip());
        assertThat(row.group(3)).as("unit of " + row.group(1)).isEqualTo(unit(row.group(1)));
      }
    }
    Map<String, String> types = new TreeMap<>();
    Map<String, String> scraped = new TreeMap<>();
    for (String line : scrape().lines().toList()) {
      Matcher type = TYPE.matcher(line);
      if (type.matches()) {
        types.put(type.group(1), type.group(2));
      } else if (!line.startsWith("#")) {
        Matcher sample = SAMPLE.matcher(line);
        assertThat(sample.matches()).as(line).isTrue();
        String name = sample.group(1).replaceFirst("_(bucket|sum|count)$", "");
        String labels = sample.group(2) == null ? "" : sample.group(2);
        String names =
            labels.replaceAll("=\"[^\"]*\"", "").replaceAll("(^|,)le(,|$)", "").replace(",", ", ");
        scraped.put(name, (types.get(name) + " " + names).strip());
      }
    }
    documented.replaceAll((name, text) -> text.strip());
    assertThat(scraped).hasSizeGreaterThan(30).isEqualTo(documented);
  }

  @Test
  void scrape_ofAPool_countsWhatIsThere() {
    assertThat(scrape().lines())
        .contains(
            "gpupool_gpu_memory_used_bytes{gpu=\"1\",server=\"gpu-1\"} 2097152.0",
            "gpupool_gpu_memory_bytes{gpu=\"0\",server=\"gpu-1\"} 8.589934592E9",
            "gpupool_gpu_compute_free_ratio{gpu=\"0\",server=\"gpu-1\"} 0.875",
            "gpupool_leases{state=\"grace\"} 2.0",
            "gpupool_leases{state=\"held\"} 1.0",
            "gpupool_queue_requests 1.0",
            "gpupool_queue_wait_max_seconds 2.5",
            "gpupool_server_state{server=\"gpu-1\",state=\"ready\"} 1.0",
            "gpupool_server_state{server=\"gpu-1\",state=\"draining\"} 0.0",
            "gpupool_demand_gpus{model=\"other\"} 0.5",
            "gpupool_demand_gpus{model=\"any\"} 0.0",
            "gpupool_lease_gpu_seconds_total{gpu=\"gpu\",server=\"server\",tenant=\"tenant\"} 2.5",
            "gpupool_queue_wait_seconds_bucket{le=\"1.0\"} 3",
            "gpupool_queue_wait_seconds_bucket{le=\"3600.0\"} 3",
            "gpupool_queue_wait_seconds_bucket{le=\"+Inf\"} 4",
            "gpupool_queue_wait_seconds_count 4",
            "gpupool_queue_wait_seconds_sum 4000.5",
            "gpupool_server_up_seconds{server=\"gpu-1\",version=\"0.1.0\"} 90.0");
  }

  @Test
  void scrape_ofAServerThatHasNothing_tellsOfTenantsOnly() {
    assertThat(PoolMeters.page(new SamplePool(3).atAnotherServer()).lines())
        .contains(
            "gpupool_queue_requests 0.0",
            "gpupool_queue_wait_max_seconds 0.0",
            "gpupool_leases{state=\"held\"} 0.0",
            "gpupool_sessions{state=\"attached\"} 0.0",
            "gpupool_tenant_gpus_limit{tenant=\"vision\"} 2.5")
        .noneMatch(line -> line.contains("server=\"gpu-1\""))
        .noneMatch(line -> line.contains("model=\"other\""));
  }

  /** The page of an admin, less the metrics of the process. */
  private static String scrape() {
    SamplePool pool = new SamplePool(3);
    ServerMetrics live = new ServerMetrics();
    live.measureIn(pool.meters.registry());
    for (int millis : new int[] {10, 200, 290, 4_000_000}) {
      live.waited(Duration.ofMillis(millis));
    }
    return PoolMeters.page(pool.snapshot) + pool.meters.page(name -> name.startsWith("gpupool_"));
  }

  private static String unit(String name) {
    String base = name.replaceFirst("_total$", "");
    return UNITS.stream().filter(unit -> base.endsWith("_" + unit)).findFirst().orElse("");
  }
}
