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
import io.gpupool.server.records.Gang;
import io.gpupool.server.records.GangKey;
import io.gpupool.server.records.LeaseOwner;
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
      List<Decision> turns = QueueScheduler.decide(all, pool(free), 200 * SECOND);
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
          QueueScheduler.decide(queue, pool(List.of(offer(gpu, gpu.whole()))), nowNanos).getFirst();
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
            pool(List.of(rest, offer(other, other.whole()))),
            QueueScheduler.RESERVATION_DELAY_NANOS);
    assertThat(turns.getFirst()).isInstanceOf(Decision.NoCapacity.class);
    assertThat(((Decision.Grant) turns.get(1)).parts().getFirst().gpu()).isEqualTo(other);
  }

  @Test
  void decide_gangsAmongOthers_grantsAllOfAGangOrNoneAndNoMoreThanIsFree() {
    int together = 0;
    for (int seed = 0; seed < 2000; seed++) {
      Random random = new Random(seed);
      List<Offer> free = offers(random);
      List<QueuedRequest> all = new ArrayList<>();
      for (int i = 0; i < random.nextInt(20); i++) {
        QueuedRequest one = waiting(i, random);
        all.add(random.nextInt(3) == 0 ? one : inGang(one, "g" + random.nextInt(3), 2));
      }
      Map<Gpu, Share> left = new HashMap<>();
      free.forEach(offer -> left.put(offer.gpu(), offer.free()));
      Map<GangKey, Integer> granted = Map.of(new GangKey("", "g1"), random.nextInt(3));
      List<Decision> turns =
          QueueScheduler.decide(
              all, new QueueScheduler.Pool(free, QuotaUsage.NONE, granted), 200 * SECOND);
      List<QueuedRequest> answered = new ArrayList<>();
      for (Decision decision : turns) {
        List<Decision.Grant> grants =
            switch (decision) {
              case Decision.Grant grant -> List.of(grant);
              case Decision.GrantGang gang -> gang.grants();
              default -> List.of();
            };
        if (decision instanceof Decision.GrantGang gang) {
          together++;
          GangKey key = gang.request().gang().orElseThrow();
          assertThat(grants.size() + granted.getOrDefault(key, 0)).isEqualTo(2);
          assertThat(grants).extracting(g -> g.request().gang().orElseThrow()).containsOnly(key);
          grants.forEach(grant -> answered.add(grant.request()));
        } else {
          answered.add(decision.request());
        }
        for (Decision.Grant grant : grants) {
          grant.parts().forEach(part -> left.merge(part.gpu(), part.share(), Share::minus));
        }
      }
      assertThat(answered).containsExactlyInAnyOrderElementsOf(all);
    }
    assertThat(together).isGreaterThan(50);
  }

  @Test
  void decide_gangThatWaitsLong_keepsTheGpusForItself() {
    Gpu one = PlacementTest.gpu("s", 0, GIB);
    Gpu other = PlacementTest.gpu("s", 1, GIB);
    QueuedRequest first = inGang(queued(1, whole(), 0, 0), "train", 2);
    QueuedRequest second = inGang(queued(2, whole(), 0, 0), "train", 2);
    QueuedRequest small = queued(3, whole(), 0, 1);
    List<Decision> turns =
        QueueScheduler.decide(
            List.of(first, second, small),
            pool(List.of(offer(one, one.whole()), offer(other, Share.NONE))),
            QueueScheduler.RESERVATION_DELAY_NANOS);
    assertThat(turns.subList(0, 2))
        .allSatisfy(turn -> assertThat(turn).isInstanceOf(Decision.GangNoCapacity.class));
    assertThat(turns.get(2)).isInstanceOf(Decision.Reserved.class);
  }

  private static QueuedRequest inGang(QueuedRequest request, String name, int size) {
    LeaseSpec spec = request.spec();
    return new QueuedRequest(
        request.number(),
        new LeaseSpec(
            spec.requirements(),
            spec.priority(),
            spec.waitMillis(),
            new LeaseOwner(spec.holder(), spec.tenant(), null, name),
            spec.principal(),
            spec.limits(),
            spec.leaseClass(),
            new Gang(name, size)),
        request.sinceNanos());
  }

  private static QueueScheduler.Pool pool(List<Offer> free) {
    return new QueueScheduler.Pool(free, QuotaUsage.NONE, Map.of());
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
