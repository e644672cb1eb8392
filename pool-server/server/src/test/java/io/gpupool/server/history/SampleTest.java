// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SampleTest {
  static LeaseLabel lease(String id, String tenant) {
    return new LeaseLabel(id, tenant, "train", "ada@pc");
  }

  @Test
  void of_moreLeasesThanAreNamed_sumsThoseThatUsedLeast() {
    List<LeaseSample> all =
        IntStream.rangeClosed(1, 200)
            .mapToObj(i -> new LeaseSample(lease("L" + i, "a"), 1, i, 2, 3, 4))
            .toList();
    Sample sample = Sample.of(1000, 10, all);
    assertThat(sample.portions()).hasSize(Sample.MAX_LEASES + 1);
    assertThat(sample.portions().getFirst().lease().id()).isEqualTo("L200");
    int rest = 200 - Sample.MAX_LEASES;
    assertThat(sample.portions().getLast())
        .isEqualTo(
            new LeaseSample(
                LeaseLabel.OTHERS, rest, rest * (rest + 1) / 2, 2L * rest, 3L * rest, 4L * rest));
  }

  @Test
  void merged_severalSamples_addsTimesAndAveragesMemory() {
    LeaseLabel one = lease("L1", "a");
    LeaseLabel two = lease("L2", "b");
    Sample merged =
        Sample.merged(
            List.of(
                new Sample(10, 10, List.of(new LeaseSample(one, 5, 4, 3, 100, 200))),
                new Sample(40, 30, List.of(new LeaseSample(one, 1, 1, 1, 20, 200))),
                new Sample(
                    80,
                    40,
                    List.of(
                        new LeaseSample(two, 7, 7, 7, 80, 80),
                        new LeaseSample(LeaseLabel.OTHERS, 1, 1, 1, 8, 8)))));
    assertThat(merged.atMillis()).isEqualTo(80);
    assertThat(merged.millis()).isEqualTo(80);
    assertThat(merged.portions())
        .containsExactly(
            new LeaseSample(two, 7, 7, 7, 40, 40),
            new LeaseSample(one, 6, 5, 4, 20, 100),
            new LeaseSample(LeaseLabel.OTHERS, 1, 1, 1, 4, 4));
  }

  @Test
  void seenBy_aTenant_namesNoLeaseOfAnother() {
    Sample sample =
        new Sample(
            10,
            10,
            List.of(
                new LeaseSample(lease("L1", "a"), 1, 1, 1, 1, 1),
                new LeaseSample(lease("L2", "b"), 2, 2, 2, 2, 2),
                new LeaseSample(lease("L3", "c"), 3, 3, 3, 3, 3)));
    assertThat(sample.seenBy("a"::equals).portions())
        .containsExactly(
            new LeaseSample(lease("L1", "a"), 1, 1, 1, 1, 1),
            new LeaseSample(LeaseLabel.OTHERS, 5, 5, 5, 5, 5));
  }
}
