// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.BackendTraits.Caller;
import io.gpupool.cuda.DriverTime;
import io.gpupool.cuda.DriverTime.SliceState;
import io.gpupool.soft.exec.launch.DeviceTime;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Gate before one GPU's driver: it lets operations through in the lease's time slices, and no more
 * of them than may be in flight when a slice ends. Any thread may call it.
 */
final class GpuGate implements Passage {
  /*
   * A driver cannot be told to stop what was submitted. So the work in flight is bounded in time, by
   * the cost of each operation, which is learned from timing events around batches of them. When the
   * time slice ends, nothing more is submitted, the work in flight finishes, and only then does
   * another lease have the GPU: otherwise the card would slice its time between two contexts, and
   * the events of each would measure the other's work as well.
   *
   * A lease without competitors on its GPU has large batches and a bound that it does not notice. It
   * is still bounded, because a neighbour that comes has to wait for the work in flight. A thread
   * that submits the same operation over and over does so without the lock (Express).
   *
   * Work that does not end in a multiple of its expected time stops holding up others. It may hang,
   * or wait for a host function, for another process, or for work that is still before this gate.
   * The card slices its time then, and the work is charged when it has ended.
   *
   * Threads wait outside the lock, and one of them switches the time slice. A thread of the gate's
   * own watches the work in flight, because the program may come back to it late.
   */
  private static final long POLL_NANOS = 50_000;
  private static final long WATCH_NANOS = 100_000;
  private static final long WATCH_UNCONTENDED_NANOS = 1_000_000;
  private static final long HARVEST_UNCONTENDED_NANOS = 5_000_000;
  private static final long WATCH_IDLE_NANOS = 20_000_000;

  private static final int BATCHES_IN_BOUND = 8;
  private static final long UNCONTENDED_BATCH_NANOS = 10_000_000;
  private static final long UNCONTENDED_BOUND_NANOS = 50_000_000;

  /** While streams may wait for host functions: half of what a driver takes before it blocks. */
  private static final int MAX_BEHIND_HOST_FUNCTIONS = 512;

  private static final int HOST_FUNCTION_BATCH = 64;
  private static final long HOST_FUNCTION_PATIENCE_NANOS = 5_000_000_000L;

  private final DriverTime time;
  private final Caller caller;
  private final long boundNanos;
  private final long uncontendedBoundNanos;
  private final DeviceTime.Use use;
  private final Thread watcher;

  /** The permission of a thread to submit without the lock, if one has it. */
  private final AtomicReference<@Nullable Express> express = new AtomicReference<>();

  /** Calls of the driver that have begun and not returned. */
  private final AtomicInteger calls = new AtomicInteger();

  /** Threads that wait until they may submit: they end the time slice, or go on with it. */
  private final AtomicInteger waiting = new AtomicInteger();

  private volatile SliceState sliceState = SliceState.UNCONTENDED;

  @GuardedBy("this")
  private final CostTable costs = new CostTable();

  @GuardedBy("this")
  private final WorkInFlight inFlight;

  @GuardedBy("this")
  private final OpenBatch open;

  @GuardedBy("this")
  private boolean busy;

  @GuardedBy("this")
  private boolean switching;

  @GuardedBy("this")
  private long latestKey;

  @GuardedBy("this")
  private long harvestedAt;

  @GuardedBy("this")
  private long quietNanos;

  @GuardedBy("this")
  private boolean parked;

  /** Next step of a thread that wants to submit an operation. */
  private enum Step {
    GO,
    WAIT,
    BEGIN,
    PASS
  }

  /**
   * Limits of the work in flight while others want the GPU.
   *
   * @param boundNanos how long it may take
   * @param overdueNanos how long it may last before it stops holding up others; longer if it is
   *     expected to take long
   */
  record Limits(long boundNanos, long overdueNanos) {
    private static final long OVERDUE_NANOS = 100_000_000;

    static Limits of(long boundNanos) {
      return new Limits(boundNanos, OVERDUE_NANOS);
    }
  }

  /** Makes the gate, and starts the thread that watches the work in flight. */
  GpuGate(int gpu, DriverTime time, TimingEvents events, Caller caller, Limits limits) {
    this.time = time;
    this.caller = caller;
    boundNanos = limits.boundNanos;
    uncontendedBoundNanos = Math.max(UNCONTENDED_BOUND_NANOS, boundNanos);
    inFlight = new WorkInFlight(events, caller, new WorkMeter(time, events), limits.overdueNanos);
    open = new OpenBatch(events, inFlight, calls, express);
    use =
        () -> {
          caller.lookAround();
          return true;
        };
    watcher = Thread.ofPlatform().name("gpu-gate-" + gpu).daemon().start(this::watch);
  }

  /**
   * Waits until an operation may be submitted; {@link Passage#exit} must follow.
   *
   * @param key of its cost
   */
  Passage enter(long context, long stream, long key) {
    Express permission = express.get();
    if (permission != null
        && !caller.hasHostFunctions()
        && permission.admits(context, stream, key)) {
      return permission;
    }
    Step step = admit(context, stream, key, 0);
    if (step == Step.GO) {
      return this;
    }
    waiting.incrementAndGet();
    try {
      await(context, stream, key, step);
    } finally {
      int ignored = waiting.decrementAndGet();
    }
    return this;
  }

  private void await(long context, long stream, long key, Step first) {
    long since = System.nanoTime();
    Step step = first;
    while (step != Step.GO) {
      switch (step) {
        case GO -> {}
        case BEGIN -> begin();
        case PASS -> pass();
        case WAIT -> {
          caller.lookAround();
          LockSupport.parkNanos(POLL_NANOS);
        }
      }
      step = admit(context, stream, key, System.nanoTime() - since);
    }
  }

  @Override
  public void exit(int result) {
    if (result != 0) {
      synchronized (this) {
        open.fail();
      }
    }
    int ignored = calls.decrementAndGet();
  }

  /** Ends the open batch: the program queries a stream or records an event in one. */
  void look() {
    if (sliceState == SliceState.CONTENDED) {
      synchronized (this) {
        boolean ignored = open.close(System.nanoTime());
      }
    }
  }

  /** Forgets a stream that is about to be destroyed. */
  synchronized void endStream(long stream) {
    if (open.touches(stream) && !open.close(System.nanoTime())) {
      // Another thread's call is under way: this stream's work goes on, and is not measured.
      open.abandon();
    }
  }

  /** Forgets a context that is about to be destroyed, with its streams and events. */
  synchronized void endContext(long context) {
    open.endContext(context);
    inFlight.endContext(context);
  }

  private synchronized Step admit(long context, long stream, long key, long waitedNanos) {
    if (switching) {
      return Step.WAIT;
    }
    if (!busy) {
      switching = true;
      return Step.BEGIN;
    }
    Cost cost = costs.of(key);
    if (!open.revokePermission()) {
      return Step.WAIT;
    }
    boolean contended = isContended();
    if (contended && isOver()) {
      return awaitEnd();
    }
    long nanos = cost.nanosOr(contended ? boundNanos : UNCONTENDED_BATCH_NANOS);
    if (!hasRoom(nanos, waitedNanos) || !makeRoomInBatch(context, stream, cost, nanos)) {
      return Step.WAIT;
    }
    open.add(context, stream, cost, nanos);
    if (!contended && key == latestKey && cost.isKnown()) {
      open.permit(context, stream, key, cost, UNCONTENDED_BATCH_NANOS);
    }
    latestKey = key;
    int ignored = calls.incrementAndGet();
    return Step.GO;
  }

  private boolean isContended() {
    return sliceState != SliceState.UNCONTENDED;
  }

  @GuardedBy("this")
  private boolean isOver() {
    if (sliceState != SliceState.ENDED && time.isOver()) {
      sliceState = time.renew(System.nanoTime());
    }
    return sliceState == SliceState.ENDED;
  }

  /** Waits for the work in flight; then the time slice may pass on. */
  @GuardedBy("this")
  private Step awaitEnd() {
    closeAndHarvest(System.nanoTime());
    if (!isDrained()) {
      return Step.WAIT;
    }
    switching = true;
    return Step.PASS;
  }

  @GuardedBy("this")
  private boolean hasRoom(long nanos, long waitedNanos) {
    boolean contended = isContended();
    long bound = contended ? boundNanos : uncontendedBoundNanos;
    if (isInTime(nanos, bound) && isInCount()) {
      return true;
    }
    long now = System.nanoTime();
    closeAndHarvest(now);
    return (isInTime(nanos, bound) || !contended && inFlight.isStalled(now))
        && (isInCount() || waitedNanos > HOST_FUNCTION_PATIENCE_NANOS);
  }

  @GuardedBy("this")
  private boolean isInTime(long nanos, long bound) {
    long ahead = inFlight.expectedNanos() + open.expectedNanos();
    return ahead == 0 || ahead + nanos <= bound;
  }

  @GuardedBy("this")
  private boolean isInCount() {
    return inFlight.operations() + open.operations() < MAX_BEHIND_HOST_FUNCTIONS
        || !caller.hasHostFunctions();
  }

  /** Ends the open batch if an operation does not fit; returns false if that cannot be now. */
  @GuardedBy("this")
  private boolean makeRoomInBatch(long context, long stream, Cost cost, long nanos) {
    boolean fits = open.isEmpty() || !isBatchFull(cost, nanos) && open.takes(context, stream, cost);
    return fits || open.close(System.nanoTime());
  }

  @GuardedBy("this")
  private boolean isBatchFull(Cost cost, long nanos) {
    boolean contended = isContended();
    long most = contended ? boundNanos / BATCHES_IN_BOUND : UNCONTENDED_BATCH_NANOS;
    return open.expectedNanos() + nanos > most
        || contended && !cost.isKnown()
        || open.operations() >= HOST_FUNCTION_BATCH && caller.hasHostFunctions();
  }

  @GuardedBy("this")
  private void closeAndHarvest(long now) {
    boolean ignored = open.close(now);
    harvest(now);
  }

  @GuardedBy("this")
  private void harvest(long now) {
    inFlight.harvest(now, isContended());
    if (isContended()) {
      inFlight.giveUpOverdue(now);
    }
  }

  @GuardedBy("this")
  private boolean isDrained() {
    return calls.get() == 0 && open.isEmpty() && inFlight.isEmpty();
  }

  private void begin() {
    try {
      long now = System.nanoTime();
      while (time.begin(use, now) == DeviceTime.NOT_NOW) {
        now = System.nanoTime();
      }
    } finally {
      switched();
    }
  }

  private void pass() {
    try {
      time.workFinished();
      long ignored = time.pass(use);
    } finally {
      switched();
    }
  }

  private synchronized void switched() {
    switching = false;
    busy = true;
    sliceState = time.renew(System.nanoTime());
    if (parked || sliceState == SliceState.CONTENDED) {
      parked = false;
      LockSupport.unpark(watcher);
    }
  }

  private void watch() {
    while (true) {
      long nanos = watchOnce(System.nanoTime());
      if (nanos == 0) {
        LockSupport.park(this);
      } else {
        LockSupport.parkNanos(this, nanos);
      }
    }
  }

  /** Watches the work in flight; returns the time until the next look, 0 for when there is work. */
  private synchronized long watchOnce(long now) {
    if (switching) {
      return WATCH_UNCONTENDED_NANOS;
    }
    if (!busy) {
      inFlight.harvest(now, isContended());
      parked = !inFlight.hasOverdue() && now - quietNanos > WATCH_IDLE_NANOS;
      return parked ? 0 : WATCH_UNCONTENDED_NANOS;
    }
    boolean contended = isContended();
    if (!contended && now - harvestedAt < HARVEST_UNCONTENDED_NANOS) {
      return renew(now);
    }
    harvestedAt = now;
    if (open.isOlderThan(contended ? WATCH_NANOS : UNCONTENDED_BATCH_NANOS, now)) {
      boolean ignored = open.close(now);
    }
    harvest(now);
    if (isDrained() && waiting.get() == 0) {
      quietNanos = now;
      busy = false;
      time.workFinished();
      time.end(now);
      return contended ? WATCH_NANOS : WATCH_UNCONTENDED_NANOS;
    }
    return renew(now);
  }

  /** Renews the time slice; returns the time until the next look. */
  @GuardedBy("this")
  private long renew(long now) {
    sliceState = time.renew(now);
    if (!isContended()) {
      return WATCH_UNCONTENDED_NANOS;
    }
    boolean ignored = open.revokePermission();
    return WATCH_NANOS;
  }
}
