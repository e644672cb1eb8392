// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.k8s.controller.pod.PodFacts.InPod;
import io.gpupool.k8s.controller.pod.PodFacts.Kind;
import io.gpupool.k8s.request.GpuRequest;
import io.gpupool.k8s.request.GpuRequest.Size;
import io.gpupool.k8s.request.PodRequest;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LeasePlanTest {
  private final Map<String, GpuRequest> asked = new LinkedHashMap<>();
  private final List<InPod> containers = new ArrayList<>();

  private LeasePlanTest with(String name, Kind kind, GpuRequest request) {
    asked.put(name, request);
    return without(name, kind);
  }

  private LeasePlanTest without(String name, Kind kind) {
    containers.add(new InPod(name, kind, false, false, false));
    return this;
  }

  private List<String> plan() {
    LeasePlan plan = LeasePlan.of(new PodRequest(asked, Map.of(), 0), containers);
    return plan.leases().stream()
        .map(wanted ->
            String.join("+", wanted.containers())
                + (wanted.first() ? " first" : "")
                + (wanted.last() ? " last" : ""))
        .toList();
  }

  private static GpuRequest part(String fraction) {
    return new GpuRequest(1, new Size.Fraction(new BigDecimal(fraction)), null);
  }

  private static GpuRequest memory(long mebibytes, int percent) {
    return new GpuRequest(
        1, new Size.Memory(mebibytes << 20), percent == 0 ? null : Integer.valueOf(percent));
  }

  @Test
  void plan_containersAndSidecars_haveALeaseEach() {
    assertThat(
            with("log", Kind.SIDECAR, part("0.1"))
                .without("net", Kind.SIDECAR)
                .with("main", Kind.MAIN, part("0.5"))
                .without("proxy", Kind.MAIN)
                .with("other", Kind.MAIN, part("1"))
                .plan())
        .containsExactly("log first last", "main first last", "other first last");
  }

  @Test
  void plan_initContainers_useTheFirstLeaseThatIsEnough() {
    assertThat(
            with("a", Kind.INIT, part("0.25"))
                .with("b", Kind.INIT, part("0.75"))
                .with("small", Kind.MAIN, part("0.5"))
                .with("large", Kind.MAIN, part("1"))
                .plan())
        .containsExactly("small+a first last", "large+b first last");
  }

  @Test
  void plan_initContainersThatNeedMore_haveOneLeaseBeforeTheOthers() {
    assertThat(
            with("early", Kind.SIDECAR, part("0.1"))
                .with("a", Kind.INIT, part("1"))
                .with("b", Kind.INIT, part("0.8"))
                .with("late", Kind.SIDECAR, part("0.1"))
                .with("c", Kind.INIT, part("0.2"))
                .with("main", Kind.MAIN, part("0.5"))
                .plan())
        .containsExactly("early first last", "a+b first", "late last", "main+c last");
  }

  @Test
  void plan_initContainerBesideSidecar_doesNotUseItsLease() {
    assertThat(with("log", Kind.SIDECAR, part("1")).with("a", Kind.INIT, part("0.5")).plan())
        .containsExactly("log first last", "a first");
  }

  @Test
  void enough_moreGpusMemoryAndTime_isEnough() {
    assertThat(LeasePlan.hasEnough(part("0.5"), part("0.5"))).isTrue();
    assertThat(LeasePlan.hasEnough(part("0.5"), part("0.51"))).isFalse();
    assertThat(LeasePlan.hasEnough(memory(200, 0), memory(100, 0))).isTrue();
    assertThat(LeasePlan.hasEnough(memory(200, 30), memory(100, 20))).isTrue();
    assertThat(LeasePlan.hasEnough(memory(200, 30), memory(100, 40))).isFalse();
    assertThat(LeasePlan.hasEnough(memory(200, 30), memory(100, 0))).as("unknown").isFalse();
    assertThat(LeasePlan.hasEnough(part("1"), memory(100, 10))).as("unknown").isFalse();
    GpuRequest two = new GpuRequest(2, new Size.Fraction(BigDecimal.ONE), null);
    assertThat(LeasePlan.hasEnough(two, part("1"))).isTrue();
    assertThat(LeasePlan.hasEnough(part("1"), two)).isFalse();
    GpuRequest slow = new GpuRequest(1, new Size.Fraction(BigDecimal.ONE), 20);
    assertThat(LeasePlan.hasEnough(slow, part("0.5"))).isFalse();
    assertThat(LeasePlan.hasEnough(slow, part("0.2"))).isTrue();
  }
}
