// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.resource.v1.DeviceRequestAllocationResultBuilder;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceClaim;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceClaimBuilder;
import io.gpupool.k8s.request.LeaseClass;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ClaimReadingTest {
  @Test
  void claim_withAShare_isWanted() {
    ClaimReading reading =
        ClaimReading.of(
            Claims.claim("one", List.of(Claims.share("a", "gpu-0", "8Gi", "30")), "train"));
    assertThat(reading)
        .isEqualTo(
            new ClaimReading.Wanted(
                "uid-of-one",
                "one",
                new ClaimReading.Pod("uid-of-train", "team", "train"),
                new ClaimReading.Device("a", "gpu-0"),
                8L << 30,
                30,
                LeaseClass.BATCH,
                null));
  }

  @Test
  void claim_ofAClusterWithoutShares_isForAllOfTheDevice() {
    ClaimReading reading =
        ClaimReading.of(
            Claims.claim("one", List.of(Claims.result("gpupool.io", "a", "gpu-0")), "train"));
    assertThat(reading)
        .isInstanceOfSatisfying(
            ClaimReading.Wanted.class,
            wanted -> {
              assertThat(wanted.memoryBytes()).isNull();
              assertThat(wanted.computePercent()).isNull();
            });
  }

  @Test
  void claim_ofNobodyOrAnotherDriver_isNothing() {
    List<ResourceClaim> claims =
        List.of(
            new ResourceClaimBuilder().withNewMetadata().endMetadata().build(),
            Claims.claim("one", List.of(Claims.share("a", "gpu-0", "8Gi", "30"))),
            Claims.claim("two", List.of(Claims.result("gpu.nvidia.com", "a", "x")), "train"));
    assertThat(claims)
        .allSatisfy(
            claim -> assertThat(ClaimReading.of(claim)).isInstanceOf(ClaimReading.Nothing.class));
  }

  @Test
  void claim_withADeviceOfAnotherDriver_isWantedForItsOwn() {
    assertThat(
            ClaimReading.of(
                Claims.claim(
                    "one",
                    List.of(
                        Claims.result("net.example.com", "n", "nic"),
                        Claims.share("a", "gpu-0", "8Gi", "30")),
                    "train")))
        .isInstanceOf(ClaimReading.Wanted.class);
  }

  @Test
  void claim_ofSeveralPods_isTheFirstOnes() {
    assertThat(
            ClaimReading.of(
                Claims.claim(
                    "one", List.of(Claims.share("a", "gpu-0", "8Gi", "30")), "train", "eval")))
        .isInstanceOfSatisfying(
            ClaimReading.Wanted.class,
            wanted -> {
              assertThat(wanted.pod().name()).isEqualTo("train");
              assertThat(wanted.other())
                  .isNotNull()
                  .satisfies(other -> {
                    assertThat(other.pod().name()).isEqualTo("eval");
                    assertThat(other.reason()).contains("ResourceClaimTemplate");
                  });
            });
  }

  @Test
  void claim_thatIsNotSupported_isRefusedWithWhatToDo() {
    var share = Claims.share("a", "gpu-0", "8Gi", "30");
    assertRefused(
        Claims.claim("one", List.of(share, Claims.share("a", "gpu-1", "8Gi", "30")), "train"),
        "this one has 2");
    assertRefused(
        Claims.claim(
            "one",
            List.of(new DeviceRequestAllocationResultBuilder(share).withAdminAccess(true).build()),
            "train"),
        "leave out adminAccess");
    assertRefused(configured("gpupool.io", Map.of()), "write class: batch or class: latency");
    assertRefused(
        configured("gpupool.io", Map.of("class", "gold")),
        "parameter class: 'gold' is no class of leases; write batch or latency");
    assertRefused(configured("gpupool.io", Map.of("class", 1)), "class: latency");
    assertRefused(
        configured("gpupool.io", Map.of("class", "latency", "speed", "high")),
        "no parameter 'speed'; there is class, which is batch or latency");
  }

  @Test
  void claim_withAClass_isWantedForALeaseOfIt() {
    assertClass(configured("gpupool.io", Map.of("class", "latency")), LeaseClass.LATENCY);
    assertClass(configured("gpupool.io", Map.of("class", "latency"), "gpu"), LeaseClass.LATENCY);
    assertClass(configured("gpupool.io", Map.of("class", "batch")), LeaseClass.BATCH);
    assertClass(configured("gpupool.io", Map.of("class", "latency"), "nic"), LeaseClass.BATCH);
    assertClass(configured("net.example.com", Map.of("class", "gold")), LeaseClass.BATCH);
  }

  private static ResourceClaim configured(
      String driver, Map<String, Object> parameters, String... requests) {
    var share = Claims.share("a", "gpu-0", "8Gi", "30");
    return new ResourceClaimBuilder(Claims.claim("one", List.of(share), "train"))
        .editStatus()
        .editAllocation()
        .editDevices()
        .addNewConfig()
        .withRequests(requests)
        .withNewOpaque()
        .withDriver(driver)
        .withParameters(parameters)
        .endOpaque()
        .endConfig()
        .endDevices()
        .endAllocation()
        .endStatus()
        .build();
  }

  private static void assertClass(ResourceClaim claim, LeaseClass leaseClass) {
    assertThat(ClaimReading.of(claim))
        .isInstanceOfSatisfying(
            ClaimReading.Wanted.class,
            wanted -> assertThat(wanted.leaseClass()).isEqualTo(leaseClass));
  }

  private static void assertRefused(ResourceClaim claim, String why) {
    assertThat(ClaimReading.of(claim))
        .isInstanceOfSatisfying(
            ClaimReading.Refused.class, refused -> assertThat(refused.reason()).contains(why));
  }
}
