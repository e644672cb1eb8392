// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import io.gpupool.runtime.Timers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The history of this server's GPUs: what their time and memory was used for in the last hour and
 * day, by lease. Owned by the control thread.
 */
public final class UseHistory {
  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final int SAMPLES_PER_SAVE = 6;

  private final LeaseService leases;
  private final Timers timers;
  private final Saving saving;
  private final Map<String, Gpu> gpus = new LinkedHashMap<>();
  private final Map<String, GpuSamples> samples = new LinkedHashMap<>();
  private final Map<LeaseId, List<LeaseMeter>> meters = new HashMap<>();

  /** What is in the next sample already, by GPU: of leases that have ended since the last. */
  private final Map<String, List<LeaseSample>> portions = new HashMap<>();

  private long sampledAtNanos;
  private int unsaved;

  /** Is given all there is once a minute, by the UUID of the GPU and window. */
  interface Saving {
    void save(Map<String, Map<Window, List<Sample>>> all);
  }

  /**
   * Goes on with what was kept before.
   *
   * @param before by the UUID of the GPU
   */
  UseHistory(
      List<Gpu> gpus,
      LeaseService leases,
      Timers timers,
      Map<String, GpuSamples> before,
      Saving saving) {
    this.leases = leases;
    this.timers = timers;
    this.saving = saving;
    for (Gpu gpu : gpus) {
      this.gpus.put(gpu.uuid(), gpu);
      samples.put(gpu.uuid(), before.getOrDefault(gpu.uuid(), new GpuSamples()));
    }
  }

  /**
   * Of these GPUs.
   *
   * @param folder where it is kept over restarts; null: nowhere
   * @param disk on which it is written
   */
  public static UseHistory open(
      List<Gpu> gpus, LeaseService leases, Timers timers, @Nullable Path folder, Executor disk) {
    if (folder == null) {
      return new UseHistory(gpus, leases, timers, Map.of(), all -> {});
    }
    HistoryFile file = new HistoryFile(folder);
    return new UseHistory(
        gpus,
        leases,
        timers,
        file.read(),
        all -> disk.execute(() -> file.write(HistoryCodec.record(all))));
  }

  /** Takes a sample every ten seconds from now on. */
  public void start() {
    sampledAtNanos = timers.nowNanos();
    leases.whenEnding(this::end);
    plan();
  }

  private void plan() {
    timers.after(
        Window.hour.sampleMillis(),
        () -> {
          plan();
          sample();
          if (++unsaved >= SAMPLES_PER_SAVE) {
            save();
          }
        });
  }

  /** Takes what there is since the last sample, and saves all. */
  public void close() {
    sample();
    save();
  }

  private void save() {
    unsaved = 0;
    Map<String, Map<Window, List<Sample>>> all = new LinkedHashMap<>();
    samples.forEach((gpu, kept) -> all.put(gpu, kept.all()));
    saving.save(all);
  }

  /** What is kept of a GPU, as somebody may see it; empty if the GPU is not this server's. */
  public Optional<GpuHistory> of(String gpu, Window window, Predicate<String> maySee) {
    long now = timers.wallMillis();
    return Optional.ofNullable(samples.get(gpu))
        .map(kept ->
            new GpuHistory(
                gpu,
                Objects.requireNonNull(gpus.get(gpu)).memoryBytes(),
                window,
                now,
                kept.in(window, now).stream().map(sample -> sample.seenBy(maySee)).toList()));
  }

  private void sample() {
    long now = timers.nowNanos();
    long millis = (now - sampledAtNanos) / NANOS_PER_MILLI;
    if (millis <= 0) {
      return;
    }
    sampledAtNanos = now;
    leases.all().forEach(lease -> read(lease, portions));
    long wall = timers.wallMillis();
    samples.forEach(
        (gpu, kept) -> kept.add(Sample.of(wall, millis, portions.getOrDefault(gpu, List.of()))));
    portions.clear();
  }

  /** Its last part of a sample: its memory is free already. */
  private void end(Lease lease) {
    Map<String, List<LeaseSample>> last = new HashMap<>();
    read(lease, last);
    last.forEach((gpu, parts) ->
        portions
            .computeIfAbsent(gpu, g -> new ArrayList<>())
            .addAll(parts.stream().map(part -> part.withBytes(0, 1)).toList()));
    meters.remove(lease.id());
  }

  private void read(Lease lease, Map<String, List<LeaseSample>> into) {
    List<Part> own = lease.topology().own();
    List<LeaseMeter> read =
        meters.computeIfAbsent(
            lease.id(), id -> own.stream().map(part -> new LeaseMeter(lease)).toList());
    for (int i = 0; i < own.size(); i++) {
      into.computeIfAbsent(own.get(i).gpu().uuid(), gpu -> new ArrayList<>())
          .add(read.get(i).read(lease, i, timers.nowNanos()));
    }
  }
}
