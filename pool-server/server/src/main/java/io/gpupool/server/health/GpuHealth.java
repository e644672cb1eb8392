// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.health;

import io.gpupool.runtime.Timers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.records.GpuFault;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The health of this server's GPUs. A GPU with a fault of its own is recorded as faulty, so that no
 * server of the pool grants it, and taken back when it has passed a trial. Existing leases go on:
 * their programs hear from the driver about what concerns them. Owned by the control thread.
 */
public final class GpuHealth {
  private static final long LOOK_MILLIS = 1000;
  private static final Logger LOG = LoggerFactory.getLogger(GpuHealth.class);

  private final Map<String, Gpu> byUuid;
  private final Map<String, GpuCondition> conditions = new HashMap<>();
  private final Map<String, Reading> samples = new HashMap<>();
  private final Map<String, Faults> faults = new HashMap<>();
  private final Set<String> onTrial = new HashSet<>();
  private final RecordStore records;
  private final Timers timers;
  private final Executor control;
  private final Function<String, Optional<String>> trial;

  /**
   * Of GPUs of which nothing is known yet.
   *
   * @param trial tries the GPU of a UUID: empty if it works, else why not; may block
   */
  public GpuHealth(
      List<Gpu> gpus,
      Function<String, Optional<String>> trial,
      RecordStore records,
      Timers timers,
      Executor control) {
    byUuid = new HashMap<>();
    gpus.forEach(gpu -> byUuid.put(normal(gpu.uuid()), gpu));
    this.trial = trial;
    this.records = records;
    this.timers = timers;
    this.control = control;
  }

  /** Looks from now on which GPUs are to be tried. */
  public void start() {
    timers.after(LOOK_MILLIS, this::check);
  }

  /** What this server's GPU measured last; empty if it is not watched. */
  public Optional<Reading> sample(Gpu gpu) {
    return Optional.ofNullable(samples.get(normal(gpu.uuid())));
  }

  /** The faults of this server's GPU so far. */
  public Faults faults(Gpu gpu) {
    return faults.getOrDefault(normal(gpu.uuid()), Faults.NONE);
  }

  /** The watching process tells something. */
  public void onReading(Reading reading) {
    String uuid = normal(reading.uuid());
    Gpu gpu = byUuid.get(uuid);
    if (gpu == null) {
      return;
    }
    GpuCondition condition = conditions.computeIfAbsent(uuid, ignored -> new GpuCondition());
    if (reading.type().equals("fault")) {
      int xid = (int) reading.number("xid").orElse(Xid.UNCORRECTED_MEMORY);
      LOG.warn("{}: {}", gpu.label(), Xid.describe(xid));
      condition.fault(xid, timers.wallMillis());
      if (Xid.isOfTheGpu(xid)) {
        faults.merge(uuid, Faults.NONE.and(xid), (known, ignored) -> known.and(xid));
      }
    } else {
      samples.put(uuid, reading);
      condition.told(
          reading.fields().getOrDefault("condition", GpuCondition.GOOD), timers.wallMillis());
    }
    write(gpu, condition);
  }

  private void check() {
    conditions.forEach((uuid, condition) -> {
      Gpu gpu = Objects.requireNonNull(byUuid.get(uuid));
      if (condition.isToBeTried(timers.wallMillis()) && onTrial.add(uuid)) {
        Thread.ofVirtual()
            .start(() -> {
              Optional<String> failure = trial.apply(gpu.uuid());
              control.execute(() -> tried(uuid, gpu, condition, failure.orElse(null)));
            });
      }
    });
    timers.after(LOOK_MILLIS, this::check);
  }

  private void tried(String uuid, Gpu gpu, GpuCondition condition, @Nullable String failure) {
    onTrial.remove(uuid);
    // It may have had another fault meanwhile.
    if (condition.isToBeTried(timers.wallMillis())) {
      if (failure != null) {
        condition.failedTrial(failure, timers.wallMillis());
      } else {
        condition.passed(timers.wallMillis());
      }
    }
    write(gpu, condition);
  }

  /** What others see of it; a record that cannot be written is tried again at the next reading. */
  private void write(Gpu gpu, GpuCondition condition) {
    String key = GpuKey.of(gpu).text();
    Optional<String> known = records.get(RecordTypes.GPU_FAULTS, key).map(v -> v.value().problem());
    if (known.equals(condition.problem())) {
      return;
    }
    try {
      records.update(transaction -> {
        if (condition.problem().isPresent()) {
          long since =
              transaction
                  .get(RecordTypes.GPU_FAULTS, key)
                  .map(GpuFault::sinceMillis)
                  .orElse(timers.wallMillis());
          transaction.putBound(
              RecordTypes.GPU_FAULTS, key, new GpuFault(condition.problem().get(), since));
        } else {
          transaction.delete(RecordTypes.GPU_FAULTS, key);
        }
      });
      condition
          .problem()
          .ifPresentOrElse(
              why ->
                  LOG.error("{} is unhealthy and excluded from scheduling: {}", gpu.label(), why),
              () -> LOG.info("{} is healthy again", gpu.label()));
    } catch (StateException e) {
      LOG.warn("cannot record the health of {}: {}", gpu.label(), e.getMessage());
    }
  }

  private static String normal(String uuid) {
    return uuid.toLowerCase(Locale.ROOT);
  }
}
