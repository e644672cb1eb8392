// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.gpupool.worker.slicer.SimulatedGpu.Demand;
import io.gpupool.worker.slicer.SimulatedGpu.Simulated;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class FairSharesTest {
  private static final long SECOND = 1_000_000_000;
  private static final long WINDOW = 10 * SECOND;
  private static final int SEEDS = 6;

  @Test
  void shares_allAlwaysBusy_areTheWeights() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      SimulatedGpu gpu = new SimulatedGpu();
      List<Simulated> leases = new ArrayList<>();
      for (int weight : weights(random, 2 + random.nextInt(8))) {
        leases.add(gpu.busy(weight));
      }
      gpu.run(WINDOW);
      for (Simulated lease : leases) {
        assertThat(percent(lease)).as("seed %d", seed).isCloseTo(weightOf(lease), within(1.0));
      }
    }
  }

  @Test
  void shares_partOfTheLeasesIdle_areInProportionAndNothingIsWasted() {
    SimulatedGpu gpu = new SimulatedGpu();
    Simulated one = gpu.busy(1000);
    gpu.add(4000, false, nanos -> false);
    gpu.add(3000, true, nanos -> false);
    Simulated other = gpu.busy(2000);
    gpu.run(WINDOW);
    assertThat(percent(one)).isCloseTo(33.3, within(1.0));
    assertThat(percent(other)).isCloseTo(66.7, within(1.0));
    assertThat(percent(one) + percent(other)).isCloseTo(100, within(0.1));
  }

  @Test
  void shares_othersComeAndGoAsTheyLike_whoIsAlwaysBusyGetsItsOwn() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      SimulatedGpu gpu = new SimulatedGpu();
      int[] weights = weights(random, 2 + random.nextInt(5));
      Simulated busy = gpu.busy(weights[0]);
      for (int i = 1; i < weights.length; i++) {
        gpu.add(weights[i], random.nextInt(4) == 0, onAndOff(random));
      }
      gpu.run(WINDOW);
      assertThat(percent(busy)).as("seed %d", seed).isGreaterThan(weightOf(busy) - 1.5);
    }
  }

  @Test
  void shares_allComeAndGo_whoeverHasWorkIsServedSoon() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      SimulatedGpu gpu = new SimulatedGpu();
      List<Simulated> leases = new ArrayList<>();
      for (int weight : weights(random, 2 + random.nextInt(8))) {
        leases.add(gpu.add(weight, false, onAndOff(random)));
      }
      gpu.run(WINDOW);
      for (Simulated lease : leases) {
        // A round, the others' credit, and a shortest time slice of each.
        long most = 4 * FairShares.ROUND_NANOS + leases.size() * FairShares.MIN_TIME_SLICE_NANOS;
        long share = most * FairShares.WHOLE / lease.weight / 10;
        assertThat(lease.longestWaitNanos).as("seed %d", seed).isLessThan(Math.max(most, share));
      }
    }
  }

  @Test
  void shares_gapsBetweenKernels_cost_littleOfTheShare() {
    SimulatedGpu gpu = new SimulatedGpu();
    // Has work for 3 ms, then none for half a millisecond: at most 86 % of the time.
    Simulated gaps = gpu.add(7000, false, nanos -> nanos % 3_500_000 < 3_000_000);
    gpu.busy(3000);
    gpu.run(WINDOW);
    assertThat(percent(gaps)).isBetween(50.0, 70.5);
  }

  @Test
  void hard_alone_getsItsShareAndNoMore() {
    for (int weight : new int[] {100, 500, 3000, 9000, 10000}) {
      SimulatedGpu gpu = new SimulatedGpu();
      Simulated hard = gpu.add(weight, true, nanos -> true);
      gpu.run(WINDOW);
      assertThat(percent(hard)).isCloseTo(weight / 100.0, within(0.7));
    }
  }

  @Test
  void hard_amongOthersThatComeAndGo_neverGetsMoreInAnySecond() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      SimulatedGpu gpu = new SimulatedGpu();
      Simulated hard = gpu.add(3000, true, onAndOff(random));
      gpu.add(7000, false, onAndOff(random));
      for (int second = 0; second < 10; second++) {
        long before = hard.usedNanos;
        gpu.run(SECOND);
        assertThat((hard.usedNanos - before) / 1e7).as("seed %d", seed).isLessThan(30 + 3);
      }
    }
  }

  @Test
  void lendable_alone_getsEverything() {
    SimulatedGpu gpu = new SimulatedGpu();
    Simulated alone = gpu.busy(3000);
    gpu.add(7000, false, nanos -> false);
    gpu.run(WINDOW);
    assertThat(percent(alone)).isCloseTo(100, within(0.1));
  }

  @Test
  void idleLease_comesBack_doesNotMakeUpForWhatItMissed() {
    SimulatedGpu gpu = new SimulatedGpu();
    Simulated busy = gpu.busy(5000);
    Simulated late = gpu.add(5000, false, nanos -> nanos > 6 * SECOND);
    gpu.run(5 * SECOND);
    long before = busy.usedNanos;
    assertThat(late.usedNanos).isZero();
    gpu.run(SECOND);
    assertThat(busy.usedNanos - before).isCloseTo(SECOND / 2, within(SECOND / 30));
  }

  /** Work for so long of each period. */
  private static Demand requests(long nanos, long periodNanos) {
    return now -> now % periodNanos < nanos;
  }

  @Test
  void latencyLease_withinItsShare_isServedAtOnce() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      SimulatedGpu gpu = new SimulatedGpu();
      Simulated serving = gpu.serving(2000, requests(3_000_000, 20_000_000));
      int[] weights = weights(random, 2 + random.nextInt(6));
      for (int weight : weights) {
        gpu.busy(Math.max(100, weight * 8 / 10));
      }
      gpu.run(WINDOW);
      assertThat(serving.longestWaitNanos).as("seed %d", seed).isZero();
      assertThat(percent(serving)).isCloseTo(15, within(0.2));
    }
  }

  @Test
  void latencyLease_thatIsAlwaysBusy_getsItsShareAndWaitsInLine() {
    SimulatedGpu gpu = new SimulatedGpu();
    Simulated serving = gpu.serving(2000, nanos -> true);
    Simulated busy = gpu.busy(8000);
    gpu.run(WINDOW);
    assertThat(percent(serving)).isCloseTo(20, within(1.0));
    assertThat(percent(busy)).isCloseTo(80, within(1.0));
    assertThat(serving.longestWaitNanos).isGreaterThan(FairShares.timeSliceNanos(8000) / 2);
  }

  @Test
  void latencyLeases_whateverTheyAskFor_leaveOthersTheirShares() {
    for (int seed = 0; seed < 10 * SEEDS; seed++) {
      Random random = new Random(seed);
      SimulatedGpu gpu = new SimulatedGpu();
      int[] weights = weights(random, 2 + random.nextInt(5));
      Simulated busy = gpu.busy(weights[0]);
      for (int i = 1; i < weights.length; i++) {
        gpu.serving(weights[i], random.nextInt(4) == 0 ? nanos -> true : onAndOff(random));
      }
      gpu.run(WINDOW);
      assertThat(percent(busy)).as("seed %d", seed).isGreaterThan(weightOf(busy) - 1.5);
    }
  }

  @Test
  void latencyLease_backFromIdle_goesFirstForItsCreditAndNoLonger() {
    SimulatedGpu gpu = new SimulatedGpu();
    Simulated busy = gpu.busy(8000);
    Simulated serving = gpu.serving(2000, nanos -> nanos > 2 * SECOND);
    gpu.run(SECOND);
    long before = busy.usedNanos;
    gpu.run(50_000_000);
    long credit = FairShares.CREDIT_NANOS * 2000 / FairShares.WHOLE;
    long share = 50_000_000L * 2000 / FairShares.WHOLE;
    long slice = FairShares.timeSliceNanos(2000);
    assertThat(serving.usedNanos).isBetween(share, share + credit + slice);
    assertThat(busy.usedNanos - before).isEqualTo(50_000_000 - serving.usedNanos);
  }

  @Test
  void latencyLeases_amongEachOther_shareByWeight() {
    SimulatedGpu gpu = new SimulatedGpu();
    Simulated one = gpu.serving(6000, nanos -> true);
    Simulated other = gpu.serving(2000, nanos -> true);
    gpu.run(WINDOW);
    assertThat(percent(one)).isCloseTo(75, within(1.0));
    assertThat(percent(other)).isCloseTo(25, within(1.0));
  }

  @Test
  void latencyLease_asksBack_fromBatchAtOnceAndFromItsLikeByTheRules() {
    SimulatedGpu gpu = new SimulatedGpu();
    gpu.busy(4000);
    gpu.serving(3000, nanos -> true);
    gpu.serving(3000, nanos -> true);
    assertThat(FairShares.mayRecall(gpu, 1, SECOND, 0, 0)).isTrue();
    assertThat(FairShares.mayRecall(gpu, 1, SECOND, 2, 0)).isFalse();
    assertThat(FairShares.mayRecall(gpu, 0, SECOND, 1, 0)).isFalse();
    assertThat(FairShares.mustYield(gpu, SECOND, 0, 0)).isTrue();
    assertThat(FairShares.mustYield(gpu, SECOND, 1, 0)).isFalse();
  }

  private static Demand onAndOff(Random random) {
    long period = 1_000_000L + random.nextInt(200_000_000);
    double part = random.nextDouble();
    long shift = random.nextInt(1_000_000_000);
    return nanos -> (nanos + shift) % period < part * period;
  }

  /** Parts of the whole, each at least a hundredth. */
  private static int[] weights(Random random, int count) {
    int[] weights = new int[count];
    int left = FairShares.WHOLE;
    for (int i = 0; i < count - 1; i++) {
      weights[i] = 100 + random.nextInt(Math.max(1, (left - 100 * (count - i)) / 2));
      left -= weights[i];
    }
    weights[count - 1] = left;
    return weights;
  }

  private static double percent(Simulated lease) {
    return 100.0 * lease.usedNanos / WINDOW;
  }

  private static double weightOf(Simulated lease) {
    return lease.weight / 100.0;
  }
}
