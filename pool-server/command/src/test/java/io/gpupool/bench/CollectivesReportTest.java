// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonObject;
import io.gpupool.bench.CollectivesMeasurement.Plan;
import io.gpupool.bench.CollectivesMeasurement.Repetitions;
import io.gpupool.bench.CollectivesMeasurement.Result;
import io.gpupool.bench.CollectivesMeasurement.Size;
import io.gpupool.bench.CollectivesMeasurement.Step;
import io.gpupool.bench.CollectivesMeasurement.Times;
import io.gpupool.client.connection.PoolAddress;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CollectivesReportTest {
  private static final Size LARGE = new Size(Collective.ALL_REDUCE, 4_000_000);

  private static Result round(double queued, double bothWays, long wrong) {
    Times times = new Times(queued, 2 * queued, bothWays / 2, bothWays, wrong);
    return new Result(Map.of(LARGE, times), 20, new Step(100, 10_000, 10_500, 15_000));
  }

  private static CollectivesReport report(Result result) {
    PoolAddress pool = PoolAddress.parse("127.0.0.1:7642");
    List<String> servers = List.of("a", "a", "b", "b");
    return new CollectivesReport(
        new Plan(pool, Map.of(), servers, List.of(LARGE), new Repetitions(1, 20, 3), 1 << 20, true),
        result);
  }

  @Test
  void bandwidths_areThoseOfNcclTests() {
    String text = report(round(1000, 2000, 0)).text();
    assertThat(text).contains("# rank 2 on b").contains("# all_reduce");
    assertThat(text)
        .containsPattern(
            "4000000 +1000000 +float +sum +-1 +1000\\.00 +4\\.00 +6\\.00 +0 +2000\\.00 +2\\.00");
    assertThat(text).contains("# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 6");
    assertThat(text).containsPattern("and 4 MiB all_reduce : +15000\\.00 +1\\.50");
  }

  @Test
  void results_thatAreWrong_areCountedOverAllRounds() {
    Result medians =
        CollectivesReport.medians(
            List.of(round(3000, 2000, 0), round(1000, 2000, 2), round(2000, 2000, 1)));
    CollectivesReport report = report(medians);
    assertThat(report.wrong()).isEqualTo(3);
    assertThat(report.text()).contains("Out of bounds values : 3 FAILED", " 2000.00 ");
  }

  @Test
  void json_withoutATcpConnection_hasNullsForIt() {
    JsonObject json = report(round(1000, Double.NaN, 0)).json();
    JsonObject row = json.getAsJsonArray("results").get(0).getAsJsonObject();
    assertThat(row.get("tcpBothWaysGigabytesPerSecond").isJsonNull()).isTrue();
    assertThat(row.get("busGigabytesPerSecond").getAsDouble()).isEqualTo(6);
    assertThat(json.getAsJsonArray("servers")).hasSize(4);
  }

  @Test
  void sizes_areOfWholeElementsOfEachRank() {
    assertThat(Collective.ALL_GATHER.sizeBytes(100, 3)).isEqualTo(96);
    assertThat(Collective.ALL_GATHER.count(96, 3)).isEqualTo(8);
    assertThat(Collective.ALL_REDUCE.count(96, 3)).isEqualTo(24);
    assertThat(Collective.of("sendrecv")).isEqualTo(Collective.SENDRECV);
    assertThatThrownBy(() -> Collective.of("all-reduce")).hasMessageContaining("all_reduce");
  }
}
