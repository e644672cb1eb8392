// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.placement.Defragmentation.LeasePart;
import io.gpupool.server.placement.Defragmentation.Move;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Moves of leases that make room for a request. */
class DefragmentationTest {
  private static final long GIB = 1L << 30;
  private static final int GPU_GIB = 16;
  private static final BiPredicate<Gpu, Gpu> ANYWHERE = (from, to) -> true;

  private final List<Gpu> gpus = new ArrayList<>();
  private final List<LeasePart> leases = new ArrayList<>();

  private void gpus(int count) {
    for (int i = 0; i < count; i++) {
      gpus.add(PlacementTest.gpu("s" + i / 2, i % 2, GPU_GIB * GIB));
    }
  }

  private static Share share(int gib) {
    return new Share(gib * GIB, gib * Share.WHOLE_COMPUTE / GPU_GIB);
  }

  private LeaseId lease(int gpu, int gib) {
    LeaseId id = new LeaseId("L" + (leases.size() + 1));
    leases.add(new LeasePart(id, "blue", new Part(gpus.get(gpu), null, share(gib), false)));
    return id;
  }

  private Offer offer(Gpu gpu, List<LeasePart> of) {
    Share granted =
        of.stream()
            .map(LeasePart::part)
            .filter(part -> part.gpu().equals(gpu))
            .map(Part::share)
            .reduce(Share.NONE, Share::plus);
    return Offer.ofRest(gpu, gpu.whole(), gpu.whole().minus(granted));
  }

  private List<Offer> snapshot(List<LeasePart> of) {
    return gpus.stream().map(gpu -> offer(gpu, of)).toList();
  }

  private static GpuRequirements wanted(int gib) {
    return new GpuRequirements(
        1, new GpuRequirements.Size.Memory(gib * GIB), share(gib).computeBasisPoints(), List.of());
  }

  private List<Move> plan(int gib, BiPredicate<Gpu, Gpu> canMove) {
    return new Defragmentation(snapshot(leases), leases, canMove).plan(wanted(gib), "blue");
  }

  @Test
  void plan_severalLeasesWouldDo_movesTheOneWithTheLeastMemoryToWhereLeastIsLeft() {
    gpus(3);
    lease(0, 6);
    LeaseId small = lease(0, 4);
    lease(1, 10);
    lease(2, 11);
    assertThat(plan(10, ANYWHERE)).containsExactly(new Move(small, gpus.get(2)));
  }

  @Test
  void plan_oneMoveIsNotEnough_movesAsFewAsPossible() {
    gpus(3);
    for (int gpu = 0; gpu < 3; gpu++) {
      for (int i = 0; i < 4; i++) {
        lease(gpu, 3);
      }
    }
    assertThat(plan(10, ANYWHERE)).hasSize(2).extracting(Move::to).doesNotHaveDuplicates();
    assertThat(plan(16, ANYWHERE)).as("four would have to move").isEmpty();
  }

  @Test
  void plan_noOtherGpuCanTakeTheLease_isEmpty() {
    gpus(2);
    lease(0, 9);
    lease(1, 9);
    assertThat(plan(8, ANYWHERE)).as("neither has room for the other's").isEmpty();
    leases.clear();
    lease(0, 8);
    lease(1, 8);
    assertThat(plan(16, ANYWHERE)).hasSize(1);
    assertThat(plan(16, (from, to) -> false)).as("they are not alike").isEmpty();
  }

  @Test
  void plan_roomThatIsReservedForOthers_isNotUsed() {
    gpus(2);
    lease(0, 8);
    lease(1, 8);
    Offer mine = offer(gpus.get(0), leases);
    Offer others = offer(gpus.get(1), leases);
    Offer reserved =
        new Offer(
            others.gpu(), null, others.whole(), others.free(), others.hard(), Set.of("green"));
    assertThat(
            new Defragmentation(List.of(mine, reserved), leases, ANYWHERE).plan(wanted(16), "blue"))
        .isEmpty();
    assertThat(
            new Defragmentation(List.of(mine, others), leases, ANYWHERE)
                .plan(
                    new GpuRequirements(2, new GpuRequirements.Size.Fraction(1), null, List.of()),
                    "blue"))
        .as("requests for several GPUs wait")
        .isEmpty();
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void plan_anyPool_makesRoomWithTheFewestMoves(long seed) {
    Random random = new Random(seed);
    int planned = 0;
    for (int round = 0; round < 60; round++) {
      gpus.clear();
      leases.clear();
      gpus(2 + random.nextInt(3));
      for (int i = 0; i < 12; i++) {
        int gpu = random.nextInt(gpus.size());
        int gib = 1 + random.nextInt(7);
        if (offer(gpus.get(gpu), leases).free().covers(share(gib))) {
          lease(gpu, gib);
        }
      }
      int gib = 1 + random.nextInt(GPU_GIB);
      if (fits(leases, gib)) {
        continue;
      }
      List<Move> moves = plan(gib, ANYWHERE);
      List<LeasePart> after = leases;
      for (Move move : moves) {
        after = moved(after, move);
      }
      assertThat(moves.isEmpty() || fits(after, gib)).as("there is room afterwards").isTrue();
      int fewest = fewest(leases, gib, Defragmentation.MAX_MOVES);
      assertThat(moves).hasSizeBetween(0, Defragmentation.MAX_MOVES);
      if (fewest == 1) {
        assertThat(moves).as("one is enough").hasSize(1);
      }
      assertThat(moves.isEmpty() || moves.size() >= fewest).isTrue();
      planned += moves.isEmpty() ? 0 : 1;
    }
    assertThat(planned).as("plans of this seed").isPositive();
  }

  private boolean fits(List<LeasePart> of, int gib) {
    return Placement.place(wanted(gib), "blue", snapshot(of)) instanceof Outcome.Placed;
  }

  /** Returns those after a move, which must have room where it goes. */
  private List<LeasePart> moved(List<LeasePart> of, Move move) {
    List<LeasePart> after = new ArrayList<>();
    for (LeasePart lease : of) {
      if (lease.lease().equals(move.lease())) {
        assertThat(offer(move.to(), of).free().covers(lease.part().share())).isTrue();
        after.add(
            new LeasePart(
                lease.lease(),
                lease.tenant(),
                new Part(move.to(), null, lease.part().share(), false)));
      } else {
        after.add(lease);
      }
    }
    return after;
  }

  /** Tries all moves; more than the limit if none of up to so many make room. */
  private int fewest(List<LeasePart> of, int gib, int limit) {
    if (fits(of, gib)) {
      return 0;
    }
    int fewest = limit + 1;
    if (limit == 0) {
      return fewest;
    }
    for (LeasePart lease : of) {
      for (Gpu gpu : gpus) {
        if (!gpu.equals(lease.part().gpu()) && offer(gpu, of).free().covers(lease.part().share())) {
          int more = fewest(moved(of, new Move(lease.lease(), gpu)), gib, Math.min(limit, 2) - 1);
          fewest = Math.min(fewest, 1 + more);
        }
      }
    }
    return fewest;
  }
}
