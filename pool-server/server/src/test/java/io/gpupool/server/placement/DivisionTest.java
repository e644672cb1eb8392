// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DivisionTest {
  private static final long MIB = 1L << 20;
  private static final Gpu GPU = PlacementTest.gpu("s", 0, 1000 * MIB);
  private static final Share HALF = new Share(500 * MIB, 5000);

  /** Whatever is asked of it in whatever order. */
  @Test
  void changes_anyInAnyOrder_neverGiveMoreThanThereIs() {
    int[] done = new int[9];
    for (int seed = 0; seed < 400; seed++) {
      Random random = new Random(seed);
      Division division = Division.UNDIVIDED;
      List<LeaseId> live = new ArrayList<>();
      for (int step = 0; step < 120; step++) {
        int what = random.nextInt(9);
        String name = "p" + random.nextInt(4);
        Division before = division;
        try {
          switch (what) {
            case 0, 1 ->
                division =
                    division.create(new Partition(name, share(random), false, Set.of()), GPU);
            case 2 -> division = division.resize(name, share(random), random.nextBoolean(), GPU);
            case 3 -> division = division.delete(name, random.nextBoolean(), GPU);
            case 4, 5, 6 -> {
              List<Offer> offers = division.offers(GPU);
              Offer offer = offers.get(random.nextInt(offers.size()));
              Share wanted = share(random);
              LeaseId lease = new LeaseId("L" + seed + "-" + step);
              Optional<Division> after =
                  division.take(new Allocation(lease, offer.partition(), wanted), GPU.whole());
              assertThat(after.isPresent()).isEqualTo(offer.free().covers(wanted));
              if (after.isPresent()) {
                division = after.get();
                live.add(lease);
              }
            }
            case 7 -> {
              if (!live.isEmpty()) {
                division =
                    withOtherCompute(division, live.get(random.nextInt(live.size())), random);
              }
            }
            default -> {
              if (!live.isEmpty()) {
                division = division.release(live.remove(random.nextInt(live.size())));
              }
            }
          }
          done[what] += division.equals(before) ? 0 : 1;
        } catch (RefusedException e) {
          assertThat(e.getMessage()).isNotBlank().doesNotContain("\n");
        }
        assertSound(division, live);
      }
      for (LeaseId lease : live) {
        division = division.release(lease);
      }
      assertThat(division.allocations()).isEmpty();
      assertThat(division.partitions()).noneMatch(p -> p.leaving() || p.target() != null);
      assertSound(division, List.of());
    }
    assertThat(done).as("each kind of change took place").doesNotContain(0);
  }

  private static Division withOtherCompute(Division division, LeaseId lease, Random random) {
    Allocation has =
        division.allocations().stream().filter(a -> a.lease().equals(lease)).findFirst().get();
    int free = division.free(has.partition(), GPU.whole()).computeBasisPoints();
    int wanted = 100 + random.nextInt(6000);
    Optional<Division> after = division.change(lease, has.partition(), wanted, GPU.whole());
    assertThat(after.isPresent())
        .isEqualTo(wanted <= Math.max(0, free) + has.share().computeBasisPoints());
    after.ifPresent(changed ->
        assertThat(changed.allocations())
            .contains(
                new Allocation(
                    lease, has.partition(), new Share(has.share().memoryBytes(), wanted))));
    return after.orElse(division);
  }

  private static void assertSound(Division division, List<LeaseId> live) {
    assertThat(division.allocations())
        .extracting(Allocation::lease)
        .isSubsetOf(live)
        .hasSameSizeAs(live);
    Share cut = division.partitions().stream().map(Partition::size).reduce(Share.NONE, Share::plus);
    assertThat(GPU.whole().covers(cut.plus(division.granted(null)))).isTrue();
    for (Partition partition : division.partitions()) {
      assertThat(partition.size().covers(division.granted(partition.name()))).isTrue();
      assertThat(
              Optional.ofNullable(partition.target()).map(partition.size()::equals).orElse(false))
          .isFalse();
    }
    assertThat(division.allocations().stream().map(Allocation::partition).filter(Objects::nonNull))
        .allMatch(name -> division.partition(name).isPresent());
  }

  @Test
  void resize_shrinkingInUse_isRefusedOrWaitsAndGrantsNoMoreMeanwhile() throws Exception {
    Division division =
        Division.UNDIVIDED
            .create(new Partition("a", HALF, false, Set.of()), GPU)
            .take(allocation("L1", "a", new Share(300 * MIB, 3000)), GPU.whole())
            .orElseThrow();
    Share small = new Share(100 * MIB, 1000);
    assertThatThrownBy(() -> division.resize("a", small, false, GPU))
        .hasMessageContaining("L1")
        .hasMessageContaining("let the change wait");
    Division waiting = division.resize("a", small, true, GPU);
    assertThat(waiting.partition("a").orElseThrow().size()).isEqualTo(new Share(300 * MIB, 3000));
    assertThat(waiting.take(allocation("L2", "a", new Share(MIB, 100)), GPU.whole())).isEmpty();
    assertThat(waiting.release(new LeaseId("L1")).partition("a").orElseThrow())
        .isEqualTo(new Partition("a", small, false, Set.of()));
  }

  @Test
  void resize_growing_isAtOnceWhereThereIsRoomBeside() throws Exception {
    Division division =
        Division.UNDIVIDED
            .create(new Partition("a", HALF, false, Set.of()), GPU)
            .take(allocation("L1", "a", HALF), GPU.whole())
            .orElseThrow();
    Division grown = division.resize("a", new Share(700 * MIB, 9000), false, GPU);
    assertThat(grown.partition("a").orElseThrow().size()).isEqualTo(new Share(700 * MIB, 9000));
    assertThat(grown.take(allocation("L2", "a", new Share(200 * MIB, 4000)), GPU.whole()))
        .isPresent();
    assertThatThrownBy(() -> division.resize("a", new Share(1001 * MIB, 5000), false, GPU))
        .hasMessageContaining("500 MiB and 50 % compute free outside its partitions");
  }

  @Test
  void offers_cardThatHasBecomeSmaller_offerNothingOutsideThePartitions() throws Exception {
    Division division = Division.UNDIVIDED.create(new Partition("a", HALF, false, Set.of()), GPU);
    Gpu smaller = PlacementTest.gpu("s", 0, 400 * MIB);
    assertThat(division.offers(smaller).getFirst().free()).isEqualTo(Share.NONE);
  }

  @Test
  void place_reservedPartition_servesItsTenantFirstAndNobodyElse() throws Exception {
    Division division =
        Division.UNDIVIDED
            .create(new Partition("ours", HALF, true, Set.of("blue")), GPU)
            .create(new Partition("any", new Share(250 * MIB, 2500), false, Set.of()), GPU);
    List<Offer> offers = division.offers(GPU);
    GpuRequirements fifth = ask(new GpuRequirements.Size.Memory(200 * MIB), null);
    assertThat(placed(fifth, "blue", offers).partition()).isEqualTo("ours");
    assertThat(placed(fifth, "blue", offers).hard()).isTrue();
    assertThat(Optional.ofNullable(placed(fifth, "red", offers).partition()))
        .isNotEqualTo(Optional.of("ours"));
    GpuRequirements named = ask(new GpuRequirements.Size.Fraction(1), "ours");
    assertThat(placed(named, "blue", offers).share()).isEqualTo(HALF);
    assertThat(Placement.place(named, "red", offers))
        .isEqualTo(new Outcome.Unsatisfiable(new RejectionReason.NoPartition("ours")));
    GpuRequirements half = ask(new GpuRequirements.Size.Fraction(0.5), "any");
    assertThat(placed(half, "red", offers).share()).isEqualTo(new Share(125 * MIB, 1250));
    assertThat(Placement.place(ask(new GpuRequirements.Size.Fraction(1), null), "blue", offers))
        .as("the whole of a GPU that is cut")
        .isInstanceOf(Outcome.Unsatisfiable.class);
  }

  private static Placement.Part placed(
      GpuRequirements requirements, String tenant, List<Offer> offers) {
    return ((Outcome.Placed) Placement.place(requirements, tenant, offers)).parts().getFirst();
  }

  private static GpuRequirements ask(GpuRequirements.Size size, @Nullable String partition) {
    return new GpuRequirements(1, size, null, List.of(), partition, false);
  }

  private static Allocation allocation(String lease, String partition, Share share) {
    return new Allocation(new LeaseId(lease), partition, share);
  }

  private static Share share(Random random) {
    return new Share((1 + random.nextInt(600)) * MIB, 100 + random.nextInt(6000));
  }
}
