// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** {@code gpupool bench collectives} on servers of its own: it measures, and leaves nothing. */
class BenchCollectivesIT {
  private static final Duration LIMIT = Duration.ofMinutes(5);

  private static Program.Ended bench(Object... options) {
    Object[] command = new Object[options.length + 3];
    command[0] = Distribution.gpupool();
    command[1] = "bench";
    command[2] = "collectives";
    System.arraycopy(options, 0, command, 3, options.length);
    return Program.of(command).run(LIMIT);
  }

  @Test
  void calls_onTwoServersOfItsOwn_areRightAndMeasuredBesideTcp() {
    assumeTrue(
        SystemTool.find("etcd").isPresent(), "there is no etcd (apt-get install etcd-server)");
    Program.Ended ended =
        bench(
            "-b",
            "8",
            "-e",
            "64K",
            "-f",
            "8192",
            "-n",
            "2",
            "-w",
            "10",
            "--rounds",
            "1",
            "--output",
            "json",
            "all_reduce",
            "sendrecv");
    assertThat(ended.status()).as(ended.toString()).isZero();
    JsonObject report = JsonParser.parseString(ended.output()).getAsJsonObject();
    assertThat(report.getAsJsonArray("servers")).hasSize(2);
    assertThat(report.getAsJsonArray("results")).hasSize(4);
    for (JsonElement element : report.getAsJsonArray("results")) {
      JsonObject result = element.getAsJsonObject();
      assertThat(result.get("wrong").getAsLong()).as(result.toString()).isZero();
      assertThat(result.get("timeMicros").getAsDouble()).isPositive();
      assertThat(result.get("tcpBothWaysGigabytesPerSecond").isJsonNull()).isFalse();
    }
    assertThat(report.getAsJsonObject("step").get("togetherMicros").getAsDouble()).isPositive();
  }

  @Test
  void call_thatNcclDoesNotHave_isRefusedWithThoseItHas() {
    Program.Ended ended = bench("all-reduce");
    assertThat(ended.status()).isEqualTo(2);
    assertThat(ended.errors()).contains("all_reduce").doesNotContain("Exception");
  }
}
