// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PreferredAllocationTest {
  @Test
  void choose_anyOrder_takesTheLowestByNumberNotByText() {
    assertThat(
            PreferredAllocation.choose(
                List.of("gpupool-10", "gpupool-9", "gpupool-100"), List.of(), 2))
        .containsExactly("gpupool-9", "gpupool-10");
  }

  @Test
  void choose_moreWantedThanThereAre_takesAll() {
    assertThat(PreferredAllocation.choose(List.of("gpupool-1"), List.of("gpupool-3"), 5))
        .containsExactly("gpupool-3", "gpupool-1");
  }

  @Test
  void choose_unknownDevices_takesThemLast() {
    assertThat(PreferredAllocation.choose(List.of("a", "gpupool-7", "b"), List.of(), 2))
        .containsExactly("gpupool-7", "a");
  }

  @Test
  void choose_noneWanted_takesNone() {
    assertThat(PreferredAllocation.choose(List.of("gpupool-1"), List.of(), 0)).isEmpty();
  }

  @Test
  void choose_moreIncludedThanWanted_isRefused() {
    assertThatThrownBy(() -> PreferredAllocation.choose(List.of(), List.of("a", "b"), 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("of 1 devices 2");
    assertThatThrownBy(() -> PreferredAllocation.choose(List.of("a"), List.of(), -1))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void choose_random_hasThoseIncludedAndNoLowerOneLeft() {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      List<Integer> available =
          new ArrayList<>(
              IntStream.range(0, 60).filter(n -> random.nextBoolean()).boxed().toList());
      Collections.shuffle(available, random);
      List<Integer> must = available.subList(0, random.nextInt(available.size() + 1));
      int size = must.size() + random.nextInt(available.size() - must.size() + 1);
      List<Integer> chosen =
          PreferredAllocation.choose(
                  available.stream().map(DeviceId::of).toList(),
                  must.stream().map(DeviceId::of).toList(),
                  size)
              .stream()
              .map(id -> DeviceId.number(id).orElseThrow())
              .toList();
      assertThat(chosen)
          .as("seed %d", seed)
          .hasSize(size)
          .doesNotHaveDuplicates()
          .containsAll(must);
      int highest =
          chosen.stream().filter(n -> !must.contains(n)).mapToInt(n -> n).max().orElse(-1);
      assertThat(available.stream().filter(n -> !chosen.contains(n) && n < highest))
          .as("seed %d", seed)
          .isEmpty();
    }
  }
}
