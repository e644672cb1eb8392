// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuFacts;
import io.gpupool.server.gpu.GpuModel;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.select.Selector;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A measurement of placement on a pool that exists in memory only. Leases come and end at random
 * for as long as the measurement takes, with the pool kept as full as it gets. For one thread.
 */
public final class PlacementTrial {
  private static final long GIB = 1L << 30;
  private static final String[] MODELS = {"NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA L40S"};
  private static final long[] MEMORY_BYTES = {141 * GIB, 80 * GIB, 48 * GIB};
  private static final int WARM_UP = 500;
  private static final double NANOS_A_MICRO = 1000;

  private final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
  private final Random random;
  private final List<Offer> snapshot = new ArrayList<>();
  private final List<List<Part>> live = new ArrayList<>();
  private final int gpusPerServer;

  /**
   * What came of it.
   *
   * @param medianMicros processor time of a decision, as are the others
   * @param grantedPercent of all GPUs' time, when a request had to wait
   * @param acrossServers requests of several GPUs, no more than a server has, that were spread over
   *     several servers
   */
  public record Figures(
      int decisions,
      int placed,
      double medianMicros,
      double p99Micros,
      double mostMicros,
      double grantedPercent,
      int several,
      int acrossServers) {}

  /** A pool that nobody uses yet; a third of its servers have each of three models. */
  public PlacementTrial(int servers, int gpusPerServer, long seed) {
    this.gpusPerServer = gpusPerServer;
    random = new Random(seed);
    for (int server = 0; server < servers; server++) {
      int model = server % MODELS.length;
      for (int gpu = 0; gpu < gpusPerServer; gpu++) {
        String name = "server-" + server;
        Map<String, String> labels = Map.of("zone", "zone-" + server % 4);
        snapshot.add(
            ofWhole(
                new Gpu(
                    name,
                    gpu,
                    "GPU-" + server + "-" + gpu,
                    new GpuModel(MODELS[model], MEMORY_BYTES[model], "9.0", 13000),
                    labels,
                    GpuFacts.NONE)));
      }
    }
  }

  /** Makes so many decisions, after some that are not measured. */
  public Figures run(int decisions) {
    fill();
    long[] nanos = new long[decisions];
    int placed = 0;
    int several = 0;
    int across = 0;
    double granted = 0;
    int full = 0;
    for (int i = -WARM_UP; i < decisions; i++) {
      GpuRequirements requirements = ask();
      long start = clock.getCurrentThreadCpuTime();
      Outcome outcome = Placement.place(requirements, "", snapshot);
      if (i >= 0) {
        nanos[i] = clock.getCurrentThreadCpuTime() - start;
      }
      if (outcome instanceof Outcome.Placed(List<Part> parts)) {
        take(parts);
        placed += i >= 0 ? 1 : 0;
        several += i >= 0 && parts.size() > 1 && parts.size() <= gpusPerServer ? 1 : 0;
        across += i >= 0 && parts.size() <= gpusPerServer && servers(parts) > 1 ? 1 : 0;
      } else if (outcome instanceof Outcome.NoCapacity) {
        granted += i >= 0 ? grantedPercent() : 0;
        full += i >= 0 ? 1 : 0;
        end();
      }
    }
    Arrays.sort(nanos);
    return new Figures(
        decisions,
        placed,
        nanos[decisions / 2] / NANOS_A_MICRO,
        nanos[(int) (decisions * 0.99)] / NANOS_A_MICRO,
        nanos[decisions - 1] / NANOS_A_MICRO,
        full == 0 ? 0 : granted / full,
        several,
        across);
  }

  private static Offer ofWhole(Gpu gpu) {
    return Offer.ofRest(gpu, gpu.whole(), gpu.whole());
  }

  private void fill() {
    while (Placement.place(ask(), "", snapshot) instanceof Outcome.Placed(List<Part> parts)) {
      take(parts);
    }
  }

  private void take(List<Part> parts) {
    live.add(parts);
    for (Part part : parts) {
      int at = at(part);
      snapshot.set(at, snapshot.get(at).without(part.share()));
    }
  }

  /** Ends one that lives, whichever. */
  private void end() {
    if (live.isEmpty()) {
      return;
    }
    int which = random.nextInt(live.size());
    List<Part> ended = live.get(which);
    live.set(which, live.getLast());
    live.removeLast();
    for (Part part : ended) {
      int at = at(part);
      Offer offer = snapshot.get(at);
      snapshot.set(at, Offer.ofRest(offer.gpu(), offer.whole(), offer.free().plus(part.share())));
    }
  }

  private int at(Part part) {
    String server = part.gpu().server();
    return Integer.parseInt(server.substring(server.indexOf('-') + 1)) * gpusPerServer
        + part.gpu().ordinal();
  }

  private static long servers(List<Part> parts) {
    return parts.stream().map(part -> part.gpu().server()).distinct().count();
  }

  private double grantedPercent() {
    long free = 0;
    for (Offer offer : snapshot) {
      free += offer.free().computeBasisPoints();
    }
    return 100 - (double) free / snapshot.size() / 100;
  }

  /**
   * Mostly parts of a GPU and single GPUs, some training on several: much as published traces of
   * shared clusters have it.
   */
  private GpuRequirements ask() {
    int kind = random.nextInt(100);
    int gpus = 1;
    GpuRequirements.Size size;
    Integer compute = null;
    if (kind < 40) {
      size = new GpuRequirements.Size.Fraction((1 + random.nextInt(10)) / 20.0);
    } else if (kind < 60) {
      size = new GpuRequirements.Size.Memory((2L + random.nextInt(30)) * GIB);
      compute = 500 * (1 + random.nextInt(10));
    } else {
      size = new GpuRequirements.Size.Fraction(1);
      gpus = kind < 85 ? 1 : kind < 92 ? 2 : kind < 97 ? 4 : 8;
    }
    List<Selector> selectors =
        switch (random.nextInt(10)) {
          case 0 -> List.of(Selector.in("model", "*H200*"));
          case 1 -> List.of(Selector.in("label.zone", "zone-" + random.nextInt(4)));
          default -> List.of();
        };
    boolean spread = random.nextInt(20) == 0;
    return new GpuRequirements(gpus, size, compute, selectors, null, false, spread, false);
  }
}
