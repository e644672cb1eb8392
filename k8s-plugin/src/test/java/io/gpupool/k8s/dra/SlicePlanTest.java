// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.resource.v1.CapacityRequestPolicy;
import io.fabric8.kubernetes.api.model.resource.v1.Device;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceCapacity;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SlicePlanTest {
  @Test
  void plan_onePartition_saysWhatItIs() {
    Device device =
        SlicePlan.of(
                new Devices()
                    .server("gpu-1", "ready")
                    .gpu("gpu-1", "GPU-0A1b", true)
                    .partition("GPU-0A1b", "dra", 1000, 25.5, "claims")
                    .all())
            .get("gpu-1")
            .getFirst()
            .getFirst();
    assertThat(device.getName()).isEqualTo("gpu-0a1b");
    assertThat(device.getAllowMultipleAllocations()).isTrue();
    assertThat(device.getTaints()).isEmpty();
    assertThat(device.getAttributes().get("uuid").getString()).isEqualTo("GPU-0A1b");
    assertThat(device.getAttributes().get("model").getString()).isEqualTo("NVIDIA H200");
    assertThat(device.getAttributes().get("computeCapability").getVersion()).isEqualTo("9.0.0");
    assertThat(device.getAttributes().get("driverVersion").getVersion()).isEqualTo("580.65.6");
    assertThat(device.getAttributes().get("cudaVersion").getVersion()).isEqualTo("13.0.0");
    assertThat(device.getCapacity().get("memory").getValue()).isEqualTo(new Quantity("1000Mi"));
    assertThat(device.getCapacity().get("compute").getValue()).isEqualTo(new Quantity("25"));
  }

  @Test
  void plan_partitionsThatOthersMayTake_haveNoDevice() {
    List<PoolDevice> devices =
        new Devices()
            .server("a", "ready")
            .gpu("a", "one", true)
            .gpu("a", "two", true)
            .gpu("a", "three", true)
            .partition("one", "dra", 1000, 50)
            .partition("two", "dra", 1000, 50, "claims", "others")
            .partition("three", "batch", 1000, 50, "claims")
            .partition("gone", "dra", 1000, 50, "claims")
            .all();
    assertThat(SlicePlan.of(devices)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"ready, false, gpupool.io/unhealthy", "draining, true, gpupool.io/draining"})
  void plan_deviceThatGivesNothing_isTainted(String server, boolean healthy, String taint) {
    List<PoolDevice> devices =
        new Devices()
            .server("a", server)
            .gpu("a", "one", healthy)
            .partition("one", "dra", 1000, 50, "claims")
            .all();
    assertThat(SlicePlan.of(devices).get("a").getFirst().getFirst().getTaints())
        .singleElement()
        .satisfies(found -> {
          assertThat(found.getKey()).isEqualTo(taint);
          assertThat(found.getEffect()).isEqualTo("NoSchedule");
        });
  }

  /** What the API server checks, for pools of any size. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void plan_anyPool_isOneThatTheApiServerTakes(long seed) {
    Random random = new Random(seed);
    Devices pool = new Devices();
    int count = random.nextInt(400);
    Set<String> expected = new HashSet<>();
    for (int server = 0; server < 3; server++) {
      pool.server("Server_" + server + ".lab", random.nextBoolean() ? "ready" : "draining");
    }
    for (int i = 0; i < count; i++) {
      String uuid = "GPU-" + Long.toHexString(random.nextLong()).toUpperCase();
      long memory = random.nextInt(1, 200_000);
      double compute = random.nextDouble(0.5, 100);
      pool.gpu("Server_" + random.nextInt(3) + ".lab", uuid, random.nextInt(9) > 0)
          .partition(uuid, "dra", memory, compute, "claims");
      if (memory >= 2 && compute >= 2) {
        expected.add(DraNames.device(uuid));
      }
    }
    List<String> names = new ArrayList<>();
    for (Map.Entry<String, List<List<Device>>> each : SlicePlan.of(pool.all()).entrySet()) {
      assertThat(each.getKey()).matches("[a-z0-9]([-.a-z0-9]*[a-z0-9])?");
      for (List<Device> slice : each.getValue()) {
        assertThat(slice).hasSizeBetween(1, 64);
        for (Device device : slice) {
          names.add(device.getName());
          assertThat(device.getName()).matches("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?");
          assertThat(device.getAttributes().size() + device.getCapacity().size())
              .isLessThanOrEqualTo(32);
          device.getCapacity().values().forEach(SlicePlanTest::assertValid);
        }
      }
    }
    assertThat(names).doesNotHaveDuplicates();
    assertThat(new HashSet<>(names)).isEqualTo(expected);
  }

  private static void assertValid(DeviceCapacity capacity) {
    CapacityRequestPolicy policy = capacity.getRequestPolicy();
    BigDecimal value = bytes(capacity.getValue());
    BigDecimal min = bytes(policy.getValidRange().getMin());
    BigDecimal step = bytes(policy.getValidRange().getStep());
    BigDecimal preset = bytes(policy.getDefault());
    assertThat(bytes(policy.getValidRange().getMax())).isLessThanOrEqualTo(value);
    assertThat(min.add(step)).isLessThanOrEqualTo(value);
    assertThat(preset).isBetween(min, value);
    assertThat(preset.remainder(step)).isEqualByComparingTo(BigDecimal.ZERO);
    assertThat(value.remainder(step)).isEqualByComparingTo(BigDecimal.ZERO);
  }

  private static BigDecimal bytes(Quantity quantity) {
    return Quantity.getAmountInBytes(quantity);
  }

  @ParameterizedTest
  @CsvSource({
    "580.65.06, 580.65.6",
    "9.0, 9.0.0",
    "'', 0.0.0",
    "550.0.00.1, 550.0.0",
    "535-open, 535.0.0"
  })
  void version_anyText_hasThreeNumbers(String text, String version) {
    assertThat(SlicePlan.version(text).getVersion()).isEqualTo(version);
  }
}
