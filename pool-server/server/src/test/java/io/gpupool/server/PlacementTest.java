// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.Placement.Offer;
import io.gpupool.server.Placement.Outcome;
import io.gpupool.server.Placement.Part;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PlacementTest {
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
          Ask ask = ask(random);
          List<Offer> snapshot = capacity.snapshot();
          switch (Placement.place(ask, "", snapshot)) {
            case Outcome.Placed(List<Part> parts) -> {
              assertThat(parts).hasSize(ask.gpus());
              assertThat(parts.stream().map(Part::gpu).distinct()).hasSize(ask.gpus());
              live.put(ground.take(parts), parts);
            }
            case Outcome.Full full ->
                assertThat(
                        snapshot.stream()
                            .filter(o -> o.free().covers(ask.shareOf(o.gpu())))
                            .count())
                    .isEqualTo(full.fitting())
                    .isLessThan(ask.gpus());
            case Outcome.Impossible impossible ->
                assertThat(gpus.stream().filter(g -> g.whole().covers(ask.shareOf(g))).count())
                    .isLessThan(ask.gpus());
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
          .isInstanceOf(Outcome.Full.class);
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
    Ask ask = new Ask(1, new Ask.Size.Memory(1 << 20), OptionalInt.of(600), Map.of());
    assertThat(Placement.place(ask, "", capacity.snapshot())).isInstanceOf(Outcome.Full.class);
  }

  @Test
  void place_selectors_chooseOrSayWhatThereIs() {
    Capacity capacity = new Ground(List.of(gpu("a", 0, GIB), gpu("b", 0, GIB))).capacity;
    Ask onB = new Ask(1, new Ask.Size.Fraction(1), OptionalInt.empty(), Map.of("server", "B"));
    assertThat(placed(onB, capacity).getFirst().gpu().server()).isEqualTo("b");
    Ask none = new Ask(1, new Ask.Size.Fraction(1), OptionalInt.empty(), Map.of("model", "*A100*"));
    assertThat(((Outcome.Impossible) Placement.place(none, "", capacity.snapshot())).reason())
        .contains("NVIDIA H100");
  }

  @Test
  void glob_starsAnywhere_match() {
    assertThat(Glob.matches("*h100*", "nvidia h100 80gb")).isTrue();
    assertThat(Glob.matches("nvidia*gb", "nvidia h100 80gb")).isTrue();
    assertThat(Glob.matches("nvidia", "nvidia h100")).isFalse();
    assertThat(Glob.matches("", "")).isTrue();
    assertThat(Glob.matches("**", "x")).isTrue();
    assertThat(Glob.matches("a*a*a*a*a*b".repeat(8), "a".repeat(256))).isFalse();
  }

  private static List<Part> placed(Ask ask, Capacity capacity) {
    return ((Outcome.Placed) Placement.place(ask, "", capacity.snapshot())).parts();
  }

  private static Ask ask(Random random) {
    OptionalInt compute =
        random.nextInt(4) == 0 ? OptionalInt.of(100 + random.nextInt(9901)) : OptionalInt.empty();
    Ask.Size size =
        random.nextBoolean()
            ? new Ask.Size.Fraction((1 + random.nextInt(100)) / 100.0)
            : new Ask.Size.Memory((1 + random.nextInt(100_000)) * (1L << 20));
    return new Ask(1 + random.nextInt(3), size, compute, Map.of());
  }

  static Part part(Gpu gpu, Share share) {
    return new Part(gpu, Optional.empty(), share, false);
  }

  private static Ask fraction(int gpus, double part) {
    return new Ask(gpus, new Ask.Size.Fraction(part), OptionalInt.empty(), Map.of());
  }

  static Gpu gpu(String server, int ordinal, long memory) {
    return new Gpu(
        server, ordinal, server + ordinal, "NVIDIA H100 80GB HBM3", memory, "9.0", 13000);
  }
}
