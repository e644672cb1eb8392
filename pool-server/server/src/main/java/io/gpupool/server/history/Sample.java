// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The use of a GPU's time and memory over some seconds or minutes.
 *
 * @param atMillis when it ended, since 1970
 * @param millis how long it was
 */
public record Sample(long atMillis, long millis, List<LeaseSample> portions) {
  /** A sample names no more leases than this; the rest are one. */
  static final int MAX_LEASES = 16;

  private static final Comparator<LeaseSample> MOST =
      Comparator.comparingLong(LeaseSample::usedNanos)
          .thenComparingLong(LeaseSample::grantedNanos)
          .thenComparingLong(LeaseSample::usedBytes)
          .reversed();

  public Sample {
    portions = List.copyOf(portions);
  }

  /** Of any number of leases, of which those are named that used most. */
  static Sample of(long atMillis, long millis, List<LeaseSample> all) {
    List<LeaseSample> named =
        all.stream().filter(portion -> !portion.lease().isOthers()).sorted(MOST).toList();
    List<LeaseSample> kept = new ArrayList<>(named.subList(0, Math.min(named.size(), MAX_LEASES)));
    named.stream().skip(MAX_LEASES).map(p -> p.as(LeaseLabel.OTHERS)).forEach(kept::add);
    all.stream().filter(portion -> portion.lease().isOthers()).forEach(kept::add);
    return new Sample(atMillis, millis, sums(kept));
  }

  /** Several that follow each other as one: times are added, memory is the average. */
  static Sample merged(List<Sample> samples) {
    long millis = Math.max(1, samples.stream().mapToLong(Sample::millis).sum());
    List<LeaseSample> weighted = new ArrayList<>();
    for (Sample sample : samples) {
      sample.portions.forEach(portion -> weighted.add(portion.withBytes(sample.millis, 1)));
    }
    return of(
        samples.getLast().atMillis,
        millis,
        sums(weighted).stream().map(portion -> portion.withBytes(1, millis)).toList());
  }

  /** As somebody sees it: leases of tenants that are not to be seen are one. */
  Sample seenBy(Predicate<String> maySee) {
    return new Sample(
        atMillis,
        millis,
        sums(
            portions.stream()
                .map(portion ->
                    maySee.test(portion.lease().tenant()) ? portion : portion.as(LeaseLabel.OTHERS))
                .toList()));
  }

  private static List<LeaseSample> sums(List<LeaseSample> portions) {
    Map<LeaseLabel, LeaseSample> sums = new LinkedHashMap<>();
    portions.forEach(portion -> sums.merge(portion.lease(), portion, LeaseSample::plus));
    return List.copyOf(sums.values());
  }
}
