// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuFacts;
import io.gpupool.server.gpu.GpuModel;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.select.Selector;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

public class PlacementTest {
  private static final long GIB = 1L << 30;

  @Test
  void place_anyRequestsAndEnds_neverGrantsMoreThanThereIs() {
    for (int seed = 0; seed < 60; seed++) {
      Random random = new Random(seed);
      List<Gpu> gpus = new ArrayList<>();
      for (int i = 0; i < 1 + random.nextInt(8); i++) {
        long memory = (1 + random.nextInt(80)) * GIB / (1 + random.nextInt(3));
        gpus.add(gpu("s" + random.nextInt(3), i, memory));
      }
      Ground ground = new Ground(gpus);
      Capacity capacity = ground.capacity;
      Map<LeaseId, List<Part>> live = new LinkedHashMap<>();
      for (int step = 0; step < 200; step++) {
        if (random.nextInt(3) == 0 && !live.isEmpty()) {
          LeaseId ended = List.copyOf(live.keySet()).get(random.nextInt(live.size()));
          live.remove(ended);
          ground.giveBack(ended);
        } else {
          GpuRequirements requirements = ask(random);
          List<Offer> snapshot = capacity.snapshot();
          switch (Placement.place(requirements, "", snapshot)) {
            case Outcome.Placed(List<Part> parts) -> {
              assertThat(parts).hasSize(requirements.gpus());
              assertThat(parts.stream().map(Part::gpu).distinct()).hasSize(requirements.gpus());
              live.put(ground.take(parts), parts);
            }
            case Outcome.NoCapacity full ->
                assertThat(
                        snapshot.stream()
                            .filter(o -> o.free().covers(requirements.shareOf(o.gpu())))
                            .count())
                    .isEqualTo(full.fitting())
                    .isLessThan(requirements.gpus());
            case Outcome.Unsatisfiable impossible ->
                assertThat(
                        gpus.stream()
                            .filter(g -> g.whole().covers(requirements.shareOf(g)))
                            .count())
                    .isLessThan(requirements.gpus());
          }
        }
        for (Gpu gpu : gpus) {
          Share granted =
              live.values().stream()
                  .flatMap(List::stream)
                  .filter(part -> part.gpu().equals(gpu))
                  .map(Part::share)
                  .reduce(Share.NONE, Share::plus);
          assertThat(granted.plus(capacity.free(gpu))).isEqualTo(gpu.whole());
        }
      }
    }
  }

  @Test
  void place_fractionsOfAnyGpu_tenTenthsFit() {
    for (long memory : new long[] {GIB, 85_899_345_920L, 12_345_678_901L, 10L << 20}) {
      Ground ground = new Ground(List.of(gpu("s", 0, memory)));
      Capacity capacity = ground.capacity;
      for (int i = 0; i < 10; i++) {
        ground.take(placed(fraction(1, 0.1), capacity));
      }
      assertThat(Placement.place(fraction(1, 0.1), "", capacity.snapshot()))
          .isInstanceOf(Outcome.NoCapacity.class);
    }
  }

  @Test
  void place_secondHalf_packsOntoTheGpuThatIsHalfTaken() {
    Ground ground = new Ground(List.of(gpu("s", 0, GIB), gpu("s", 1, GIB)));
    Capacity capacity = ground.capacity;
    List<Part> first = placed(fraction(1, 0.5), capacity);
    ground.take(first);
    List<Part> second = placed(fraction(1, 0.25), capacity);
    assertThat(second.getFirst().gpu()).isEqualTo(first.getFirst().gpu());
  }

  @Test
  void place_severalGpus_prefersOneServer() {
    Ground ground =
        new Ground(List.of(gpu("a", 0, GIB), gpu("b", 0, GIB), gpu("b", 1, GIB), gpu("c", 0, GIB)));
    Capacity capacity = ground.capacity;
    ground.take(List.of(part(gpu("a", 0, GIB), new Share(GIB / 2, 5000))));
    assertThat(placed(fraction(2, 0.5), capacity))
        .extracting(part -> part.gpu().server())
        .containsExactly("b", "b");
    assertThat(placed(fraction(4, 0.5), capacity)).hasSize(4);
  }

  @Test
  void place_memoryFitsButComputeDoesNot_isFull() {
    Ground ground = new Ground(List.of(gpu("s", 0, GIB)));
    Capacity capacity = ground.capacity;
    ground.take(List.of(part(gpu("s", 0, GIB), new Share(1 << 20, 9500))));
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Memory(1 << 20), 600, List.of());
    assertThat(Placement.place(requirements, "", capacity.snapshot()))
        .isInstanceOf(Outcome.NoCapacity.class);
  }

  @Test
  void place_selectors_chooseOrSayWhatThereIs() {
    Capacity capacity = new Ground(List.of(gpu("a", 0, GIB), gpu("b", 0, GIB))).capacity;
    GpuRequirements onB =
        new GpuRequirements(
            1, new GpuRequirements.Size.Fraction(1), null, List.of(Selector.in("server", "B")));
    assertThat(placed(onB, capacity).getFirst().gpu().server()).isEqualTo("b");
    GpuRequirements none =
        new GpuRequirements(
            1, new GpuRequirements.Size.Fraction(1), null, List.of(Selector.in("model", "*A100*")));
    assertThat(
            ((Outcome.Unsatisfiable) Placement.place(none, "", capacity.snapshot()))
                .reason()
                .text())
        .contains("NVIDIA H100");
  }

  @Test
  void place_wholeGpu_leavesTheServerWithMostUnusedGpusAlone() {
    List<Gpu> gpus = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      gpus.add(gpu(i < 4 ? "a" : i < 10 ? "b" : "c", i, GIB));
    }
    Ground ground = new Ground(gpus);
    ground.take(List.of(part(gpus.getFirst(), gpus.getFirst().whole())));
    List<Part> one = placed(fraction(1, 1), ground.capacity);
    assertThat(one.getFirst().gpu().server()).isEqualTo("c");
    List<Part> two = placed(fraction(2, 1), ground.capacity);
    assertThat(two).extracting(part -> part.gpu().server()).containsExactly("c", "c");
    List<Part> eight = placed(fraction(8, 1), ground.capacity);
    assertThat(eight.stream().map(part -> part.gpu().server()).distinct())
        .as("as few servers as possible, and none cut more than needed")
        .containsExactly("b", "c");
  }

  @Test
  void place_spread_goesToTheEmptiestGpusOfDifferentServers() {
    List<Gpu> gpus =
        List.of(gpu("a", 0, GIB), gpu("a", 1, GIB), gpu("b", 0, GIB), gpu("b", 1, GIB));
    Ground ground = new Ground(gpus);
    ground.take(List.of(part(gpus.getFirst(), new Share(GIB / 4, 2500))));
    List<Part> first = placed(spread(1), ground.capacity);
    assertThat(first.getFirst().gpu().server()).isEqualTo("b");
    ground.take(first);
    assertThat(placed(spread(2), ground.capacity))
        .extracting(part -> part.gpu().label())
        .containsExactly("GPU 1 of a", "GPU 1 of b");
    assertThat(placed(spread(4), ground.capacity))
        .extracting(part -> part.gpu().server())
        .containsExactly("a", "a", "b", "b");
  }

  /** Against all sets of servers, as many as there are. */
  @Test
  void place_severalGpusOfAnyPool_takesAsFewServersAsPossibleOneAfterTheOther() {
    int across = 0;
    for (int seed = 0; seed < 400; seed++) {
      Random random = new Random(seed);
      List<Offer> snapshot = new ArrayList<>();
      int[] free = new int[1 + random.nextInt(6)];
      for (int server = 0; server < free.length; server++) {
        for (int i = random.nextInt(5); i > 0; i--) {
          Gpu gpu = gpu("s" + server, i, GIB);
          boolean taken = random.nextInt(3) == 0;
          free[server] += taken ? 0 : 1;
          snapshot.add(Offer.ofRest(gpu, gpu.whole(), taken ? Share.NONE : gpu.whole()));
        }
      }
      boolean spread = random.nextInt(3) == 0;
      boolean one = random.nextInt(3) == 0;
      GpuRequirements requirements = several(1 + random.nextInt(8), spread, one);
      int fewest = fewest(free, requirements.gpus());
      if (Placement.place(requirements, "", snapshot) instanceof Outcome.Placed(List<Part> parts)) {
        assertThat(parts.stream().map(Part::gpu).distinct()).hasSize(requirements.gpus());
        assertThat(parts).allMatch(part -> isFree(snapshot, part));
        List<String> servers = parts.stream().map(part -> part.gpu().server()).toList();
        List<String> inOrder = new ArrayList<>();
        servers.forEach(server -> {
          if (inOrder.isEmpty() || !inOrder.getLast().equals(server)) {
            inOrder.add(server);
          }
        });
        assertThat(inOrder).doesNotHaveDuplicates();
        int able = (int) Arrays.stream(free).filter(count -> count > 0).count();
        assertThat(inOrder)
            .as("%s of %s", requirements.describe(), Arrays.toString(free))
            .hasSize(one ? 1 : spread ? Math.min(able, requirements.gpus()) : fewest);
        across += inOrder.size() > 1 ? 1 : 0;
      } else {
        assertThat(fewest).isGreaterThan(requirements.maxServers());
      }
    }
    assertThat(across).isGreaterThan(50);
  }

  private static boolean isFree(List<Offer> snapshot, Part part) {
    return snapshot.stream().anyMatch(o -> o.holds(part) && o.free().covers(part.share()));
  }

  /** How many servers it takes; more than there are if all have too few. */
  private static int fewest(int[] free, int gpus) {
    int fewest = Integer.MAX_VALUE;
    for (int set = 1; set < 1 << free.length; set++) {
      int room = 0;
      for (int server = 0; server < free.length; server++) {
        room += (set >> server & 1) * free[server];
      }
      fewest = room >= gpus ? Math.min(fewest, Integer.bitCount(set)) : fewest;
    }
    return fewest;
  }

  @Test
  void place_moreServersThanAProgramCanReach_staysWithinThem() {
    List<Offer> snapshot = new ArrayList<>();
    for (int server = 0; server < 40; server++) {
      for (int i = 0; i < (server == 20 ? 8 : 1); i++) {
        Gpu gpu = gpu("s" + server, i, GIB);
        snapshot.add(Offer.ofRest(gpu, gpu.whole(), gpu.whole()));
      }
    }
    for (boolean spread : new boolean[] {false, true}) {
      Outcome most = Placement.place(several(23, spread, false), "", snapshot);
      assertThat(((Outcome.Placed) most).parts().stream().map(p -> p.gpu().server()).distinct())
          .hasSize(16);
      assertThat(
              ((Outcome.Unsatisfiable) Placement.place(several(24, spread, false), "", snapshot))
                  .reason()
                  .text())
          .isEqualTo("only 23 GPUs of any 16 servers can serve it");
      assertThat(((Outcome.Placed) Placement.place(several(8, spread, true), "", snapshot)).parts())
          .allMatch(part -> part.gpu().server().equals("s20"));
      assertThat(
              ((Outcome.Unsatisfiable) Placement.place(several(9, spread, true), "", snapshot))
                  .reason()
                  .text())
          .contains("no server has more than 8 GPUs");
    }
  }

  private static GpuRequirements several(int gpus, boolean spread, boolean oneServer) {
    return new GpuRequirements(
        gpus,
        new GpuRequirements.Size.Fraction(1),
        null,
        List.of(),
        null,
        false,
        spread,
        oneServer);
  }

  @Test
  void place_unnamedRequest_takesHardPartitionsLast() {
    Gpu gpu = gpu("s", 0, 4 * GIB);
    Share half = new Share(2 * GIB, 5000);
    Offer rest = Offer.ofRest(gpu, half, half);
    Offer hard = Offer.of(gpu, new Partition("hard", half, true, Set.of()), half);
    Offer reserved = Offer.of(gpu, new Partition("ours", half, true, Set.of("red")), half);
    GpuRequirements quarter = fraction(1, 0.25);
    assertThat(partition(quarter, "", hard, rest)).isEmpty();
    assertThat(partition(quarter, "", hard)).contains("hard");
    assertThat(partition(quarter, "red", rest, hard, reserved)).contains("ours");
    assertThat(partition(quarter, "blue", rest, hard, reserved)).isEmpty();
  }

  @Test
  void place_selectors_lookAtVersionsAndLabels() {
    Gpu old = gpu("a", 0, GIB);
    Gpu fresh =
        new Gpu(
            "b",
            0,
            "b0",
            new GpuModel("NVIDIA B200", GIB, "10.0", 13010),
            Map.of("zone", "eu/1"),
            GpuFacts.NONE);
    assertThat(chosen(List.of(Selector.atLeast("cc", "9.5")), old, fresh)).isEqualTo(fresh);
    assertThat(chosen(List.of(Selector.in("cc", "9.*")), old, fresh)).isEqualTo(old);
    assertThat(chosen(List.of(Selector.atLeast("driver", "13.1")), old, fresh)).isEqualTo(fresh);
    assertThat(chosen(List.of(Selector.in("driver", "13.0")), old, fresh)).isEqualTo(old);
    assertThat(chosen(List.of(Selector.in("label.zone", "EU/*")), old, fresh)).isEqualTo(fresh);
    assertThat(
            chosen(List.of(Selector.in("model", "*b200"), Selector.in("server", "b")), old, fresh))
        .isEqualTo(fresh);
  }

  private static List<Part> placed(GpuRequirements requirements, Capacity capacity) {
    return ((Outcome.Placed) Placement.place(requirements, "", capacity.snapshot())).parts();
  }

  private static GpuRequirements ask(Random random) {
    Integer compute = random.nextInt(4) == 0 ? 100 + random.nextInt(9901) : null;
    GpuRequirements.Size size =
        random.nextBoolean()
            ? new GpuRequirements.Size.Fraction((1 + random.nextInt(100)) / 100.0)
            : new GpuRequirements.Size.Memory((1 + random.nextInt(100_000)) * (1L << 20));
    return new GpuRequirements(1 + random.nextInt(3), size, compute, List.of());
  }

  static Part part(Gpu gpu, Share share) {
    return new Part(gpu, null, share, false);
  }

  private static Gpu chosen(List<Selector> selectors, Gpu... gpus) {
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(1), null, selectors);
    return placed(requirements, new Ground(List.of(gpus)).capacity).getFirst().gpu();
  }

  private static Optional<String> partition(
      GpuRequirements requirements, String tenant, Offer... offers) {
    return Optional.ofNullable(
        ((Outcome.Placed) Placement.place(requirements, tenant, List.of(offers)))
            .parts()
            .getFirst()
            .partition());
  }

  private static GpuRequirements spread(int gpus) {
    return new GpuRequirements(
        gpus, new GpuRequirements.Size.Fraction(0.25), null, List.of(), null, false, true, false);
  }

  private static GpuRequirements fraction(int gpus, double part) {
    return new GpuRequirements(gpus, new GpuRequirements.Size.Fraction(part), null, List.of());
  }

  public static Gpu gpu(String server, int ordinal, long memory) {
    return new Gpu(
        server,
        ordinal,
        server + ordinal,
        new GpuModel("NVIDIA H100 80GB HBM3", memory, "9.0", 13000));
  }
}
