// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.wire.SchedulePage;
import io.gpupool.wire.ScheduleSlot;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * {@link SchedulePage}s of this server's GPUs, in a file that lives in memory alone: who takes time
 * slices, with which weight, and how much time each had. Each GPU has a page for its leases, and
 * each of its leases one for its programs. Owned by the control thread; the time slices themselves
 * are taken by the workers. Since these can write to all of it, what the server itself decides is
 * kept here, too, and put back into the pages now and then.
 */
public final class GpuScheduleTable implements AutoCloseable {
  private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

  private final SharedMemory memory;
  private final MemorySegment pages;
  private final Map<Integer, Entry> entries = new HashMap<>();
  private final int gpus;
  private final Levels levels;
  private final BitSet programPages = new BitSet();

  /** The levels at which a GPU's time is sliced. */
  public enum Levels {
    /** Its leases. The programs of one use it side by side. */
    LEASES,
    /** Its leases, and within the time slice of one the programs of that. */
    LEASES_AND_PROGRAMS,
    /** The programs of each lease. Leases use it side by side. */
    PROGRAMS
  }

  /**
   * What an entry may have of a GPU: {@code sessions} are the slots that were taken, below this.
   */
  private record Entry(int weight, boolean hard, LeaseClass leaseClass, int sessions) {}

  /**
   * Use of a GPU's time since the entry was made, in nanoseconds.
   *
   * @param throttledNanos of what it waited, while nobody had the GPU and its limit kept it away
   */
  public record Use(long usedNanos, long waitedNanos, long throttledNanos) {
    static final Use NONE = new Use(0, 0, 0);

    Use plus(Use other) {
      return new Use(
          usedNanos + other.usedNanos,
          waitedNanos + other.waitedNanos,
          throttledNanos + other.throttledNanos);
    }
  }

  /** Makes the table. */
  public GpuScheduleTable(int gpus, Levels levels) throws IOException {
    this(gpus, levels, new SharedMemory("gpupool-schedule", lengthBytes(gpus, levels)));
  }

  private GpuScheduleTable(int gpus, Levels levels, SharedMemory memory) {
    this.gpus = gpus;
    this.levels = levels;
    this.memory = memory;
    pages = memory.bytes();
  }

  /** The table that the server's former process has left, or a new one if there is none. */
  public static GpuScheduleTable of(int gpus, Levels levels, FormerUsage former)
      throws IOException {
    SharedMemory left = former.takeSchedule();
    if (left == null || left.bytes().byteSize() != lengthBytes(gpus, levels)) {
      if (left != null) {
        left.close();
      }
      return new GpuScheduleTable(gpus, levels);
    }
    GpuScheduleTable table = new GpuScheduleTable(gpus, levels, left);
    table.clearAllBut(former.leases());
    return table;
  }

  private static long lengthBytes(int gpus, Levels levels) {
    int count = levels == Levels.LEASES ? gpus : gpus * (1 + SchedulePage.MAX_LEASES);
    return (long) count * SchedulePage.BYTES;
  }

  private int pageCount() {
    return (int) (pages.byteSize() / SchedulePage.BYTES);
  }

  /** Returns the file that the workers share. */
  MemoryFile file() {
    return memory.file();
  }

  /** Takes out all entries and sessions but those that go on. Their workers are dead. */
  private void clearAllBut(Collection<FormerLease> leases) {
    Set<ScheduleSlot> kept = new HashSet<>();
    for (FormerLease lease : leases) {
      for (int slot : lease.slots()) {
        lease
            .usage()
            .leaseSlots()
            .forEach(place -> kept.add(new ScheduleSlot(place.page(), place.entry(), slot)));
        lease
            .usage()
            .programSlots()
            .forEach(place -> kept.add(new ScheduleSlot(place.page(), slot, 0)));
      }
    }
    for (int page = 0; page < pageCount(); page++) {
      long taken = Math.clamp(get(page, SchedulePage.LEASES), 0, SchedulePage.MAX_LEASES);
      for (int entry = 0; entry < taken; entry++) {
        boolean isKept = false;
        for (int session = 0; session < SchedulePage.MAX_SESSIONS; session++) {
          if (kept.contains(new ScheduleSlot(page, entry, session))) {
            isKept = true;
          } else {
            leaveSession(page, entry, session);
          }
        }
        if (!isKept) {
          leave(page, entry);
        }
      }
    }
  }

  /**
   * Enters a lease again that the server's former process has left.
   *
   * @param index of the part among those of the lease on this server
   * @throws IOException if it was left in another form than this table's
   */
  LeaseTimeSlices enterAgain(Part part, int index, LeaseClass leaseClass, FormerLease former)
      throws IOException {
    int gpu = part.gpu().ordinal();
    ScheduleSlot lease = former.leaseSlot(index);
    ScheduleSlot program = former.programSlot(index);
    boolean isFree =
        (lease == null || (lease.page() == gpu && !isTaken(gpu, lease.entry())))
            && (program == null || isFreePage(gpu, program.page()));
    if (!isFree
        || (lease == null) != (levels == Levels.PROGRAMS)
        || (program == null) != (levels == Levels.LEASES)) {
      throw new IOException("GPU " + gpu + " was scheduled otherwise before");
    }
    Integer number = null;
    if (lease != null) {
      number = lease.entry();
      int sessions = former.slots().stream().mapToInt(slot -> slot + 1).max().orElse(0);
      enterAgain(
          gpu,
          number,
          new Entry(
              Math.max(1, part.share().computeBasisPoints()), part.hard(), leaseClass, sessions));
    }
    ProgramTimeSlices programs = null;
    if (program != null) {
      programPages.set(program.page());
      programs = new ProgramTimeSlices(this, program.page(), former.slots());
    }
    return new LeaseTimeSlices(this, part, number, programs);
  }

  private boolean isFreePage(int gpu, int page) {
    int first = gpus + gpu * SchedulePage.MAX_LEASES;
    return page >= first && page < first + SchedulePage.MAX_LEASES && !programPages.get(page);
  }

  /** Enters a session of a lease again, by its number on the page of the lease's programs. */
  void enterProgramAgain(int page, int number) {
    enterAgain(page, number, new Entry(Share.WHOLE_COMPUTE, false, LeaseClass.BATCH, 1));
  }

  private void enterAgain(int page, int number, Entry entry) {
    entries.put(key(page, number), entry);
    restore(page, number);
  }

  /**
   * Enters a lease.
   *
   * @throws IOException if the GPU has as many leases as there can be
   */
  LeaseTimeSlices enter(Part part, LeaseClass leaseClass) throws IOException {
    int gpu = part.gpu().ordinal();
    Integer number =
        levels == Levels.PROGRAMS
            ? null
            : enter(gpu, part.share().computeBasisPoints(), part.hard(), leaseClass);
    // With a number there is a page, for both are as many.
    ProgramTimeSlices programs = levels == Levels.LEASES ? null : new ProgramTimeSlices(this, gpu);
    return new LeaseTimeSlices(this, part, number, programs);
  }

  /** A descriptor for a worker, which the caller must close. */
  FileDescriptor share() {
    return memory.share();
  }

  /**
   * Takes a page for the programs of a lease.
   *
   * @throws IOException if the GPU has as many leases as there can be
   */
  int takePage(int gpu) throws IOException {
    int first = gpus + gpu * SchedulePage.MAX_LEASES;
    int page = programPages.nextClearBit(first);
    if (page >= first + SchedulePage.MAX_LEASES) {
      throw tooMany(gpu);
    }
    programPages.set(page);
    return page;
  }

  /** Gives a page back that has no entries any more. */
  void givePage(int page) {
    programPages.clear(page);
  }

  /**
   * Enters a lease.
   *
   * @return its number on that GPU
   * @throws IOException if the GPU has as many leases as there can be
   */
  int enter(int gpu, int weightBasisPoints, boolean hard, LeaseClass leaseClass)
      throws IOException {
    for (int lease = 0; lease < SchedulePage.MAX_LEASES; lease++) {
      if (!isTaken(gpu, lease)) {
        enter(gpu, lease, weightBasisPoints, hard, leaseClass);
        return lease;
      }
    }
    throw tooMany(gpu);
  }

  private static IOException tooMany(int gpu) {
    return new IOException("GPU " + gpu + " has " + SchedulePage.MAX_LEASES + " leases");
  }

  /** Enters a lease, or a session, by a number that is free. */
  void enter(int page, int number, int weightBasisPoints, boolean hard, LeaseClass leaseClass) {
    put(page, number, SchedulePage.VIRTUAL_TIME, get(page, SchedulePage.VIRTUAL_NOW));
    put(page, number, SchedulePage.NOT_BEFORE, 0);
    put(page, number, SchedulePage.USED, 0);
    put(page, number, SchedulePage.WAITED, 0);
    put(page, number, SchedulePage.THROTTLED, 0);
    put(page, number, SchedulePage.MEASURED, 0);
    put(page, number, SchedulePage.CHARGED, 0);
    entries.put(key(page, number), new Entry(Math.max(1, weightBasisPoints), hard, leaseClass, 0));
    restore(page, number);
  }

  private static int key(int page, int number) {
    return page * SchedulePage.MAX_LEASES + number;
  }

  private boolean isTaken(int page, int number) {
    return entries.containsKey(key(page, number));
  }

  private Entry entry(int page, int number) {
    return Objects.requireNonNull(entries.get(key(page, number)));
  }

  /**
   * Has a lease use the GPU with another weight, or otherwise. How long it has to wait for what it
   * had already goes by its new share, so that it gets that at once.
   */
  void change(
      int page,
      int lease,
      int weightBasisPoints,
      boolean hard,
      LeaseClass leaseClass,
      long nowNanos) {
    Entry before = entry(page, lease);
    Entry after = new Entry(Math.max(1, weightBasisPoints), hard, leaseClass, before.sessions);
    entries.put(key(page, lease), after);
    double factor = (double) before.weight / after.weight;
    stretch(page, lease, SchedulePage.VIRTUAL_TIME, get(page, SchedulePage.VIRTUAL_NOW), factor);
    stretch(page, lease, SchedulePage.NOT_BEFORE, nowNanos, factor);
    restore(page, lease);
  }

  /**
   * Brings a time nearer to one before it, or away from it, unless a worker changes it just now.
   */
  private void stretch(int page, int lease, int word, long since, double factor) {
    long at = at(page, SchedulePage.leaseWord(lease, word));
    long time = (long) WORD.getVolatile(pages, at);
    if (time > since && factor != 1) {
      long changed = since + (long) ((time - since) * factor);
      boolean ignored = WORD.compareAndSet(pages, at, time, changed);
    }
  }

  /** Makes room for a session of a lease. */
  void enterSession(int page, int lease, int session) {
    Entry before = entry(page, lease);
    entries.put(
        key(page, lease),
        new Entry(
            before.weight, before.hard, before.leaseClass, Math.max(before.sessions, session + 1)));
    restore(page, lease);
  }

  /** Puts back what the server has decided for a lease, if a worker has written over it. */
  void restore(int page, int lease) {
    Entry entry = entry(page, lease);
    set(page, SchedulePage.leaseWord(lease, SchedulePage.HARD), entry.hard ? 1 : 0);
    boolean latency = entry.leaseClass == LeaseClass.LATENCY;
    set(page, SchedulePage.leaseWord(lease, SchedulePage.LATENCY), latency ? 1 : 0);
    set(page, SchedulePage.leaseWord(lease, SchedulePage.SESSIONS), entry.sessions);
    set(page, SchedulePage.leaseWord(lease, SchedulePage.WEIGHT), entry.weight);
    set(page, SchedulePage.LEASES, leases(page));
  }

  /** Lease numbers that are taken: below this. */
  private int leases(int page) {
    int count = SchedulePage.MAX_LEASES;
    while (count > 0 && !isTaken(page, count - 1)) {
      count--;
    }
    return count;
  }

  /** Takes a session out whose worker is dead. */
  void leaveSession(int page, int lease, int session) {
    put(page, SchedulePage.activeUntil(lease, session), 0);
    put(page, SchedulePage.underWay(lease, session), 0);
  }

  /** Takes an entry out; its sessions have left. */
  void leave(int page, int lease) {
    entries.remove(key(page, lease));
    put(page, lease, SchedulePage.WEIGHT, 0);
    long slice = get(page, SchedulePage.TIME_SLICE);
    if ((slice & SchedulePage.HOLDER_MASK) == lease + 1) {
      boolean ignored =
          WORD.compareAndSet(
              pages, at(page, SchedulePage.TIME_SLICE), slice, slice & ~SchedulePage.HOLDER_MASK);
    }
  }

  Use use(int page, int lease) {
    return new Use(
        get(page, SchedulePage.leaseWord(lease, SchedulePage.USED)),
        get(page, SchedulePage.leaseWord(lease, SchedulePage.WAITED)),
        get(page, SchedulePage.leaseWord(lease, SchedulePage.THROTTLED)));
  }

  /**
   * GPU time that a lease has had beyond what its share allows by now: how far its virtual time is
   * ahead of the GPU's, or what a hard lease's time until its next time slice is worth.
   */
  long debtNanos(int page, int lease, long nowNanos) {
    Entry entry = entry(page, lease);
    long ahead =
        get(page, SchedulePage.leaseWord(lease, SchedulePage.VIRTUAL_TIME))
            - get(page, SchedulePage.VIRTUAL_NOW);
    long notBefore = get(page, SchedulePage.leaseWord(lease, SchedulePage.NOT_BEFORE));
    long barred = entry.hard ? notBefore - nowNanos : 0;
    return Share.partOf(Math.max(0, Math.max(ahead, barred)), entry.weight);
  }

  @Override
  public void close() throws IOException {
    memory.close();
  }

  private long get(int page, int word) {
    return (long) WORD.getVolatile(pages, at(page, word));
  }

  private void put(int page, int word, long value) {
    WORD.setVolatile(pages, at(page, word), value);
  }

  /** Writes what is not there already, so that other processors keep their copy of the rest. */
  private void set(int page, int word, long value) {
    if (get(page, word) != value) {
      put(page, word, value);
    }
  }

  private void put(int page, int lease, int word, long value) {
    put(page, SchedulePage.leaseWord(lease, word), value);
  }

  private static long at(int page, int word) {
    return (long) page * SchedulePage.BYTES + word;
  }
}
