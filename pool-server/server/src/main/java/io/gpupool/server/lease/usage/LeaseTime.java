// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.wire.ScheduleSlot;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * A lease's GPU time: its time slices on each of its GPUs, and what they came to. Owned by the
 * control thread.
 */
public final class LeaseTime implements AutoCloseable {
  private static final long SPACING_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final long RECENT_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final GpuScheduleTable table;
  private final long sinceNanos;
  private List<Part> parts;

  /** Since when its shares have been what they are, and what was granted by then, by GPU. */
  private long changedNanos;

  private List<Long> grantedBefore;
  private final List<LeaseTimeSlices> slices = new ArrayList<>();
  private final Deque<Sample> samples = new ArrayDeque<>();

  /** What was used by then, by GPU. */
  private record Sample(long atNanos, List<GpuScheduleTable.Use> uses) {}

  /**
   * Enters a lease.
   *
   * @throws IOException if a GPU has as many leases as there can be
   */
  public LeaseTime(GpuScheduleTable table, List<Part> parts, LeaseClass leaseClass, long nowNanos)
      throws IOException {
    this.table = table;
    this.parts = List.copyOf(parts);
    sinceNanos = nowNanos;
    changedNanos = nowNanos;
    grantedBefore = Collections.nCopies(parts.size(), 0L);
    try {
      for (Part part : parts) {
        slices.add(table.enter(part, leaseClass));
      }
    } catch (IOException e) {
      close();
      throw e;
    }
    samples.add(sample(nowNanos));
  }

  /**
   * Enters a lease again that the server's former process has left, with its sessions.
   *
   * @param wallMillis the time, since 1970
   * @throws IOException if the GPUs were scheduled otherwise then
   */
  public LeaseTime(
      GpuScheduleTable table,
      List<Part> parts,
      LeaseClass leaseClass,
      FormerLease former,
      long nowNanos,
      long wallMillis)
      throws IOException {
    LeaseUsage.Granted granted = former.usage().granted();
    this.table = table;
    this.parts = List.copyOf(parts);
    changedNanos =
        nowNanos - TimeUnit.MILLISECONDS.toNanos(Math.max(0, wallMillis - granted.atMillis()));
    sinceNanos = changedNanos - TimeUnit.MILLISECONDS.toNanos(granted.ageMillis());
    grantedBefore = granted.nanos();
    if (grantedBefore.size() != parts.size() || !table.file().equals(former.usage().schedule())) {
      throw new IOException("it had other GPUs before");
    }
    try {
      for (int i = 0; i < parts.size(); i++) {
        slices.add(table.enterAgain(parts.get(i), i, leaseClass, former));
      }
    } catch (IOException e) {
      close();
      throw e;
    }
    samples.add(sample(nowNanos));
  }

  /** Of a lease on another server's GPUs, of whose time nothing is known here. */
  private LeaseTime(GpuScheduleTable table) {
    this.table = table;
    parts = List.of();
    sinceNanos = 0;
    grantedBefore = List.of();
  }

  public static LeaseTime remote(GpuScheduleTable table) {
    return new LeaseTime(table);
  }

  /** Its usage now, as one of its sessions takes part in it. */
  public LeaseUsage usage(LeaseLedger ledger, int slot, long nowNanos, long wallMillis) {
    return new LeaseUsage(
        ledger.file(),
        table.file(),
        leaseSlots(slot),
        programSlots(slot),
        new LeaseUsage.Granted(
            wallMillis,
            TimeUnit.NANOSECONDS.toMillis(nowNanos - sinceNanos),
            IntStream.range(0, slices.size())
                .mapToObj(part -> grantedNanos(part, nowNanos))
                .toList()));
  }

  /** A descriptor of the table for a worker, which the caller must close. */
  public FileDescriptor share() {
    return table.share();
  }

  /** Returns a session's slots in the schedules of leases; empty where leases take no slices. */
  public List<ScheduleSlot> leaseSlots(int slot) {
    return slices.stream().flatMap(gpu -> gpu.leaseSlot(slot).stream()).toList();
  }

  /**
   * Returns a session's slots in the schedules of the lease's programs; empty where these take no
   * slices.
   */
  public List<ScheduleSlot> programSlots(int slot) {
    return slices.stream().flatMap(gpu -> gpu.programSlot(slot).stream()).toList();
  }

  /** Goes on with other shares of the same GPUs, or as one of another class. */
  public void change(List<Part> otherParts, LeaseClass leaseClass, long nowNanos) {
    List<Long> granted = new ArrayList<>();
    for (int i = 0; i < slices.size(); i++) {
      granted.add(grantedNanos(i, nowNanos));
      slices.get(i).change(otherParts.get(i), leaseClass, nowNanos);
    }
    parts = List.copyOf(otherParts);
    grantedBefore = List.copyOf(granted);
    changedNanos = nowNanos;
  }

  public void enterSession(int slot) {
    slices.forEach(part -> part.enterSession(slot));
  }

  /** A session's worker is dead. */
  public void leaveSession(int slot) {
    slices.forEach(part -> part.leaveSession(slot));
  }

  /** What the lease had of one of its GPUs. */
  public GpuScheduleTable.Use use(int part) {
    return slices.isEmpty() ? GpuScheduleTable.Use.NONE : slices.get(part).use();
  }

  /** The GPU time that a session is charged for while it has a GPU of the lease. */
  public long charge(long heldNanos) {
    return slices.isEmpty() ? heldNanos : slices.getFirst().charge(heldNanos);
  }

  /** For how long this server has had the lease. */
  public long ageNanos(long nowNanos) {
    return nowNanos - sinceNanos;
  }

  /** What its shares of a GPU's time come to since this server has had the lease. */
  public long grantedNanos(int part, long nowNanos) {
    return slices.isEmpty()
        ? 0
        : grantedBefore.get(part) + parts.get(part).share().nanosOf(nowNanos - changedNanos);
  }

  /** GPU time that it has had beyond what its share allows by now. */
  public long debtNanos(int part, long nowNanos) {
    return slices.isEmpty() ? 0 : slices.get(part).debtNanos(nowNanos);
  }

  /** Its part of a GPU's time in the last seconds, in percent; notes what it has had by now. */
  public double recentPercent(int part, long nowNanos) {
    if (slices.isEmpty()) {
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
      slices.forEach(LeaseTimeSlices::restore);
    }
    while (samples.size() > 2 && nowNanos - samples.getFirst().atNanos > RECENT_NANOS) {
      samples.removeFirst();
    }
  }

  @Override
  public void close() {
    slices.forEach(LeaseTimeSlices::close);
    slices.clear();
  }

  private Sample sample(long nowNanos) {
    return new Sample(nowNanos, slices.stream().map(LeaseTimeSlices::use).toList());
  }
}
