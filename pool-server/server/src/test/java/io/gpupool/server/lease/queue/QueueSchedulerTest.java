// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.queue.QueueScheduler.Decision;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.select.Selector;
import io.gpupool.server.tenant.QuotaUsage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class QueueSchedulerTest {
  private static final long GIB = 1L << 30;
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  @Test
  void decide_anyQueue_grantsNoMoreThanIsFreeAndAnswersEach() {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      List<Offer> free = offers(random);
      List<QueuedRequest> all = new ArrayList<>();
      for (int i = 0; i < random.nextInt(20); i++) {
        all.add(waiting(i, random));
      }
      Map<Gpu, Share> left = new HashMap<>();
      free.forEach(offer -> left.put(offer.gpu(), offer.free()));
      List<Decision> turns = QueueScheduler.decide(all, free, QuotaUsage.NONE, 200 * SECOND);
      assertThat(turns).extracting(Decision::request).containsExactlyInAnyOrderElementsOf(all);
      for (Decision decision : turns) {
        if (decision instanceof Decision.Grant now) {
          assertThat(now.parts()).hasSize(decision.request().spec().requirements().gpus());
          now.parts().forEach(part -> left.merge(part.gpu(), part.share(), Share::minus));
        }
      }
    }
  }

  @Test
  void decide_streamOfImportantRequests_theUnimportantOneGetsItsTurn() {
    Gpu gpu = PlacementTest.gpu("s", 0, GIB);
    QueuedRequest unimportant = queued(0, whole(), 0, 0);
    List<QueuedRequest> queue = new ArrayList<>(List.of(unimportant));
    long nowNanos = 0;
    for (int i = 1; i < 200; i++) {
      nowNanos += 10 * SECOND;
      queue.add(queued(i, whole(), 100, nowNanos));
      Decision first =
          QueueScheduler.decide(queue, List.of(offer(gpu, gpu.whole())), QuotaUsage.NONE, nowNanos)
              .getFirst();
      assertThat(first).isInstanceOf(Decision.Grant.class);
      queue.remove(first.request());
      if (first.request().equals(unimportant)) {
        assertThat(nowNanos).isGreaterThan(100 * QueueScheduler.POINT_NANOS - 20 * SECOND);
        return;
      }
    }
    throw new AssertionError("it waited for ever");
  }

  @Test
  void decide_gpusKeptForOne_othersOfAnotherKindAreGranted() {
    Gpu mine = PlacementTest.gpu("a", 0, GIB);
    Gpu other = PlacementTest.gpu("b", 0, GIB);
    QueuedRequest large =
        queued(
            1,
            new GpuRequirements(
                1, new GpuRequirements.Size.Fraction(1), null, List.of(Selector.in("server", "a"))),
            0,
            0);
    GpuRequirements half =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(0.5), null, List.of());
    QueuedRequest small = queued(2, half, 0, 1);
    Offer rest = offer(mine, mine.whole().minus(new Share(GIB / 4, 2500)));
    List<Decision> turns =
        QueueScheduler.decide(
            List.of(large, small),
            List.of(rest, offer(other, other.whole())),
            QuotaUsage.NONE,
            QueueScheduler.RESERVATION_DELAY_NANOS);
    assertThat(turns.getFirst()).isInstanceOf(Decision.NoCapacity.class);
    assertThat(((Decision.Grant) turns.get(1)).parts().getFirst().gpu()).isEqualTo(other);
  }

  private static QueuedRequest queued(
      long number, GpuRequirements requirements, int priority, long sinceNanos) {
    return new QueuedRequest(
        number,
        new LeaseSpec(requirements, priority, 0, Ground.HOLDER, Principal.ANYONE, ""),
        sinceNanos);
  }

  private static Offer offer(Gpu gpu, Share free) {
    return Offer.ofRest(gpu, gpu.whole(), free);
  }

  private static GpuRequirements whole() {
    return new GpuRequirements(1, new GpuRequirements.Size.Fraction(1), null, List.of());
  }

  private static List<Offer> offers(Random random) {
    List<Offer> offers = new ArrayList<>();
    for (int i = 0; i < 1 + random.nextInt(6); i++) {
      Gpu gpu = PlacementTest.gpu("s" + random.nextInt(2), i, (1 + random.nextInt(8)) * GIB);
      long memory = (long) (random.nextDouble() * gpu.memoryBytes());
      offers.add(offer(gpu, new Share(memory, random.nextInt(Share.WHOLE_COMPUTE + 1))));
    }
    return offers;
  }

  private static QueuedRequest waiting(int number, Random random) {
    GpuRequirements requirements =
        new GpuRequirements(
            1 + random.nextInt(3),
            random.nextBoolean()
                ? new GpuRequirements.Size.Fraction((1 + random.nextInt(100)) / 100.0)
                : new GpuRequirements.Size.Memory((1 + random.nextInt(9)) * GIB / 2),
            null,
            random.nextInt(4) == 0 ? List.of(Selector.in("server", "s0")) : List.of());
    return queued(number, requirements, random.nextInt(21) - 10, random.nextLong(200 * SECOND));
  }
}
