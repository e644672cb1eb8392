// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.placement.Placement.Part;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A lease's places in the {@link TimeTable}, one a GPU. Owned by the control thread. */
public final class LeaseTime implements AutoCloseable {
  private static final long SPACING_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final long RECENT_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final TimeTable table;
  private final List<Integer> gpus;
  private final long sinceNanos;
  private List<Part> parts;

  /** Since when its shares have been what they are, and what was granted by then, by GPU. */
  private long changedNanos;

  private List<Long> grantedBefore;
  private final List<Integer> numbers = new ArrayList<>();
  private final Deque<Sample> samples = new ArrayDeque<>();

  /** What was used by then, by GPU. */
  private record Sample(long atNanos, List<TimeTable.Use> uses) {}

  /**
   * Enters a lease.
   *
   * @throws IOException if a GPU has as many leases as there can be
   */
  LeaseTime(TimeTable table, List<Part> parts, LeaseClass leaseClass, long nowNanos)
      throws IOException {
    this.table = table;
    this.parts = List.copyOf(parts);
    sinceNanos = nowNanos;
    changedNanos = nowNanos;
    grantedBefore = Collections.nCopies(parts.size(), 0L);
    gpus = parts.stream().map(part -> part.gpu().ordinal()).toList();
    try {
      for (Part part : parts) {
        int weight = part.share().computeBasisPoints();
        numbers.add(table.enter(part.gpu().ordinal(), weight, part.hard(), leaseClass));
      }
    } catch (IOException e) {
      close();
      throw e;
    }
    samples.add(sample(nowNanos));
  }

  /** Of a lease on another server's GPUs, of whose time nothing is known here. */
  private LeaseTime(TimeTable table) {
    this.table = table;
    parts = List.of();
    sinceNanos = 0;
    grantedBefore = List.of();
    gpus = List.of();
  }

  static LeaseTime elsewhere(TimeTable table) {
    return new LeaseTime(table);
  }

  /** A descriptor of the table for a worker, which the caller must close. */
  public FileDescriptor share() {
    return table.share();
  }

  /** The lease's number on each of its GPUs. */
  public List<Integer> numbers() {
    return List.copyOf(numbers);
  }

  /** Goes on with other shares of the same GPUs, or as one of another class. */
  void change(List<Part> otherParts, LeaseClass leaseClass, long nowNanos) {
    List<Long> granted = new ArrayList<>();
    for (int i = 0; i < numbers.size(); i++) {
      granted.add(grantedNanos(i, nowNanos));
      Part part = otherParts.get(i);
      table.change(
          gpus.get(i),
          numbers.get(i),
          part.share().computeBasisPoints(),
          part.hard(),
          leaseClass,
          nowNanos);
    }
    parts = List.copyOf(otherParts);
    grantedBefore = List.copyOf(granted);
    changedNanos = nowNanos;
  }

  void enterSession(int slot) {
    for (int i = 0; i < numbers.size(); i++) {
      table.enterSession(gpus.get(i), numbers.get(i), slot);
    }
  }

  /** A session's worker is dead. */
  void leaveSession(int slot) {
    for (int i = 0; i < numbers.size(); i++) {
      table.leaveSession(gpus.get(i), numbers.get(i), slot);
    }
  }

  /** What the lease had of one of its GPUs. */
  public TimeTable.Use use(int part) {
    return numbers.isEmpty() ? TimeTable.Use.NONE : table.use(gpus.get(part), numbers.get(part));
  }

  /** For how long this server has had the lease. */
  public long ageNanos(long nowNanos) {
    return nowNanos - sinceNanos;
  }

  /** What its shares of a GPU's time come to since this server has had the lease. */
  public long grantedNanos(int part, long nowNanos) {
    return numbers.isEmpty()
        ? 0
        : grantedBefore.get(part) + parts.get(part).share().nanosOf(nowNanos - changedNanos);
  }

  /** GPU time that it has had beyond what its share allows by now. */
  public long debtNanos(int part, long nowNanos) {
    return numbers.isEmpty() ? 0 : table.debtNanos(gpus.get(part), numbers.get(part), nowNanos);
  }

  /** Its part of a GPU's time in the last seconds, in percent; notes what it has had by now. */
  public double recentPercent(int part, long nowNanos) {
    if (numbers.isEmpty()) {
      return 0;
    }
    note(nowNanos);
    Sample base = samples.getFirst();
    long passed = nowNanos - base.atNanos;
    long used = use(part).usedNanos() - base.uses.get(part).usedNanos();
    return passed <= 0 ? 0 : Math.clamp(100.0 * used / passed, 0, 100);
  }

  /** Notes what it has had by now, unless that was done just before. */
  public void note(long nowNanos) {
    if (nowNanos - samples.getLast().atNanos >= SPACING_NANOS) {
      samples.add(sample(nowNanos));
      for (int i = 0; i < numbers.size(); i++) {
        table.restore(gpus.get(i), numbers.get(i));
      }
    }
    while (samples.size() > 2 && nowNanos - samples.getFirst().atNanos > RECENT_NANOS) {
      samples.removeFirst();
    }
  }

  @Override
  public void close() {
    for (int i = 0; i < numbers.size(); i++) {
      table.leave(gpus.get(i), numbers.get(i));
    }
    numbers.clear();
  }

  private Sample sample(long nowNanos) {
    List<TimeTable.Use> uses = new ArrayList<>();
    for (int i = 0; i < numbers.size(); i++) {
      uses.add(use(i));
    }
    return new Sample(nowNanos, uses);
  }
}
