// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.k8s.request.GpuRequest.Size;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PodRequestTest {
  private static final long GIBIBYTE = 1L << 30;

  @Test
  void json_writtenAndRead_isTheSame() {
    Map<String, GpuRequest> containers = new LinkedHashMap<>();
    containers.put("main", fraction("0.12500", 3));
    containers.put("other", new GpuRequest(1, new Size.Memory(8 * GIBIBYTE), 30));
    PodRequest request =
        new PodRequest(
            containers, Map.of("cc>", "8.0"), -5, LeaseClass.LATENCY, 0L, new PodGang("train", 2));
    assertThat(request.toJson())
        .isEqualTo(
            "{\"containers\":{\"main\":{\"gpus\":3,\"fraction\":0.125},\"other\":{\"gpus\":1,"
                + "\"memoryBytes\":8589934592,\"computePercent\":30}},\"select\":{\"cc>\":\"8.0\"},"
                + "\"priority\":-5,\"class\":\"latency\",\"resumeWindowMillis\":0,"
                + "\"gang\":{\"name\":\"train\",\"size\":2}}");
    assertThat(PodRequest.parse(request.toJson())).contains(request);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "null",
        "[]",
        "{}",
        "{\"containers\":{}}",
        "{\"containers\":{\"a\":{}}}",
        "{\"containers\":{\"a\":{\"gpus\":1}}}",
        "{\"containers\":{\"a\":{\"gpus\":0,\"fraction\":0.5}}}",
        "{\"containers\":{\"a\":{\"gpus\":65,\"fraction\":0.5}}}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":1.5}}}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":\"0.5\"}}}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":1e-9999999}}}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"memoryBytes\":1}}}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"memoryBytes\":2e15.5}}}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":0.5,\"memoryBytes\":8589934592}}}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":0.5,\"more\":1}}}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":0.5,\"computePercent\":0}}}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":0.5}},\"priority\":1001}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":0.5}},\"select\":{\"a\":1}}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":0.5}},\"class\":\"gold\"}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":0.5}},\"class\":1}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":0.5}},\"resumeWindowMillis\":-1}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":0.5}},\"resumeWindowMillis\":3600001}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":0.5}},\"resumeWindowMillis\":\"5m\"}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":0.5}}} {}",
        "{\"containers\":{\"a\":{\"gpus\":1,\"fraction\":0.5}},\"containers\":{}}"
      })
  void parse_whatWasNotWrittenByIt_isNothing(String json) {
    assertThat(PodRequest.parse(json)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1, 0, 100",
    "3, 1, 0, 300",
    "1, 0.5, 0, 50",
    "3, 0.125, 0, 39",
    "1, 0.01, 0, 1",
    "1, 0.0101, 0, 2",
    "2, 0.5, 80, 160",
    "2, 0.5, 30, 100"
  })
  void percent_fraction_isRoundedUpForEachGpu(int gpus, String part, int compute, long percent) {
    GpuRequest request =
        new GpuRequest(
            gpus,
            new Size.Fraction(new BigDecimal(part)),
            compute == 0 ? null : Integer.valueOf(compute));
    assertThat(request.percent(80 * GIBIBYTE)).isEqualTo(percent);
    assertThat(request.percent(1)).isEqualTo(percent);
  }

  @ParameterizedTest
  @CsvSource({
    "1, 8589934592, 85899345920, 10",
    "1, 8589934593, 85899345920, 11",
    "2, 8589934593, 85899345920, 22",
    "1, 1048576, 85899345920, 1",
    "1, 85899345920, 85899345920, 100"
  })
  void percent_memory_isRoundedUpForEachGpu(int gpus, long bytes, long size, long percent) {
    GpuRequest request = new GpuRequest(gpus, new Size.Memory(bytes), null);
    assertThat(request.percent(size)).isEqualTo(percent);
  }

  private static GpuRequest fraction(String part, int gpus) {
    return new GpuRequest(gpus, new Size.Fraction(new BigDecimal(part)), null);
  }
}
