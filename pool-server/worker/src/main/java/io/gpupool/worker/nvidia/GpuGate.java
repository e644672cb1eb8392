// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.cuda.BackendTraits.Caller;
import io.gpupool.cuda.DriverTime;
import io.gpupool.cuda.DriverTime.SliceState;
import io.gpupool.soft.exec.launch.DeviceTime;
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Gate before one GPU's driver: operations are submitted while it is the lease's time slice, and no
 * more of them than a time slice may outlast. Any thread may call it.
 */
final class GpuGate implements Passage {
  /*
   * A driver cannot be told to stop what was submitted. So what is under way is bounded in time: by
   * the cost of each operation, which is learned from timing events around batches of them. When the
   * time slice is over nothing more is submitted, what is under way is awaited, and only then does another
   * lease have the GPU: the card would slice its time between two contexts otherwise, and the events
   * of each would measure the other's work as well.
   *
   * A lease that is alone on its GPU has large batches and a bound that it does not notice. It is
   * still bounded, for a neighbour that comes has to wait for what is under way then. A thread that
   * submits the same operation over and over does so without the lock (Express).
   *
   * What does not end in a multiple of its expected time stops holding up others: it may be hung, or
   * wait for a host function, for another process, or for work that is still before this gate. The
   * card slices its time then, and what was used is charged when it is known.
   *
   * Whoever has to wait does so outside the lock, one of them for the time slice; a thread of the gate's
   * own looks after what is under way, for the program may come back to it late.
   */
  private static final long LOOK_NANOS = 50_000;
  private static final long WATCH_NANOS = 100_000;
  private static final long WATCH_ALONE_NANOS = 1_000_000;
  private static final long HARVEST_ALONE_NANOS = 5_000_000;
  private static final long WATCH_IDLE_NANOS = 20_000_000;

  private static final int BATCHES_IN_BOUND = 8;
  private static final int MAX_EXPRESS = 1 << 20;
  private static final long ALONE_BATCH_NANOS = 10_000_000;
  private static final long ALONE_BOUND_NANOS = 50_000_000;

  /** For so long a program that is alone waits for room. */
  private static final long ALONE_PATIENCE_NANOS = 20_000_000;

  private static final long MOST_OVERDUE_NANOS = 1_000_000_000;
  private static final int OVERDUE_TIMES = 4;

  /** While streams may wait for host functions: half of what a driver takes before it blocks. */
  private static final int MAX_BEHIND_HOST_FUNCTIONS = 512;

  private static final int HOST_FUNCTION_BATCH = 64;
  private static final long HOST_FUNCTION_OVERDUE_NANOS = 5_000_000;
  private static final long HOST_FUNCTION_PATIENCE_NANOS = 5_000_000_000L;

  private final DriverTime time;
  private final TimingEvents events;
  private final Caller caller;
  private final long boundNanos;
  private final long aloneBoundNanos;
  private final long overdueNanos;
  private final DeviceTime.Use use;
  private final Thread watcher;
  private final CostTable costs = new CostTable();

  /** Calls of the driver that have begun and not returned. */
  private final AtomicInteger calls = new AtomicInteger();

  /** Threads that wait until they may submit: they end the time slice, or go on with it. */
  private final AtomicInteger waiting = new AtomicInteger();

  // Guarded by this.
  private final ArrayDeque<Batch> underWay = new ArrayDeque<>();
  private final ArrayDeque<Batch> overdue = new ArrayDeque<>();
  private Batch open;
  private long underWayNanos;
  private int underWayOperations;
  private boolean busy;
  private boolean switching;
  private volatile SliceState sliceState = SliceState.UNCONTENDED;
  private long latestKey;
  private Express given;
  private Cost givenCost;
  private volatile Express express;
  private long previousEnd;
  private long previousContext;
  private long progressNanos;
  private long harvestedAt;
  private long quietNanos;
  private boolean parked;

  private enum Step {
    GO,
    WAIT,
    BEGIN,
    PASS
  }

  /**
   * Limits of what is under way while others want the GPU.
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

  /** Makes the gate, and the thread that looks after it. */
  GpuGate(int gpu, DriverTime time, TimingEvents events, Caller caller, Limits limits) {
    this.time = time;
    this.events = events;
    this.caller = caller;
    boundNanos = limits.boundNanos;
    aloneBoundNanos = Math.max(ALONE_BOUND_NANOS, boundNanos);
    overdueNanos = limits.overdueNanos;
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
    Express permission = express;
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
          LockSupport.parkNanos(LOOK_NANOS);
        }
      }
      step = admit(context, stream, key, System.nanoTime() - since);
    }
  }

  @Override
  public void exit(int result) {
    if (result != 0) {
      synchronized (this) {
        if (open != null) {
          open.fail();
        }
      }
    }
    int ignored = calls.decrementAndGet();
  }

  /** The program looks at a stream, or marks a place in one: a good time to measure. */
  void look() {
    if (sliceState == SliceState.CONTENDED) {
      synchronized (this) {
        boolean ignored = closeOpen(System.nanoTime());
      }
    }
  }

  /** A stream is about to be destroyed. */
  synchronized void streamEnds(long stream) {
    if (open != null && open.touches(stream) && !closeOpen(System.nanoTime())) {
      // Another thread's call is under way: this stream's work goes on, and is not measured.
      given = null;
      open = null;
    }
  }

  /** A context is about to be destroyed, with its streams and events. */
  synchronized void contextEnds(long context) {
    if (open != null && open.context == context) {
      boolean ignored = takeBack();
      given = null;
      open = null;
    }
    underWay.removeIf(batch -> {
      boolean ends = batch.context == context;
      if (ends) {
        leave(batch);
      }
      return ends;
    });
    overdue.removeIf(batch -> batch.context == context);
    if (previousContext == context) {
      previousEnd = TimingEvents.NONE;
    }
    events.forget(context);
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
    if (!takeBack()) {
      return Step.WAIT;
    }
    boolean alone = sliceState == SliceState.UNCONTENDED;
    if (!alone && isOver()) {
      return awaitEnd();
    }
    long nanos = cost.nanosOr(alone ? ALONE_BATCH_NANOS : boundNanos);
    if (!hasRoom(nanos, waitedNanos) || !makeBatch(context, stream, cost, nanos)) {
      return Step.WAIT;
    }
    open.add(events, stream, cost, nanos);
    if (alone && key == latestKey && cost.isKnown()) {
      give(context, stream, key, cost);
    }
    latestKey = key;
    int ignored = calls.incrementAndGet();
    return Step.GO;
  }

  /** Lets the calling thread go on with an operation until the open batch is full. */
  private void give(long context, long stream, long key, Cost cost) {
    long each = Math.max(1, cost.nanosOr(1));
    long times = (ALONE_BATCH_NANOS - open.expectedNanos()) / each;
    if (times > 1) {
      given = new Express(context, stream, key, (int) Math.min(times, MAX_EXPRESS));
      givenCost = cost;
      express = given;
    }
  }

  /** Has the open batch count what was submitted without the lock; false while something is. */
  private boolean takeBack() {
    if (given == null) {
      return true;
    }
    express = null;
    if (!given.revoke()) {
      return false;
    }
    if (open != null) {
      open.addMore(givenCost, given.count());
      if (given.hasFailed()) {
        open.fail();
      }
    }
    given = null;
    return true;
  }

  private boolean isOver() {
    if (sliceState != SliceState.ENDED && time.isOver()) {
      sliceState = time.renew(System.nanoTime());
    }
    return sliceState == SliceState.ENDED;
  }

  /** Waits for what is under way; then the time slice may go. */
  private Step awaitEnd() {
    long now = System.nanoTime();
    boolean ignored = closeOpen(now);
    harvest(now);
    giveUpOverdue(now);
    if (!isDrained()) {
      return Step.WAIT;
    }
    switching = true;
    return Step.PASS;
  }

  private boolean hasRoom(long nanos, long waitedNanos) {
    boolean alone = sliceState == SliceState.UNCONTENDED;
    long boundNow = alone ? aloneBoundNanos : boundNanos;
    if (isInTime(nanos, boundNow) && isInCount()) {
      return true;
    }
    long now = System.nanoTime();
    boolean ignored = closeOpen(now);
    harvest(now);
    giveUpOverdue(now);
    return (isInTime(nanos, boundNow) || alone && isStalled(now))
        && (isInCount() || waitedNanos > HOST_FUNCTION_PATIENCE_NANOS);
  }

  /** Whether nothing has ended for so long that what is under way may wait for what is not. */
  private boolean isStalled(long now) {
    return now - progressNanos
        > Math.clamp(OVERDUE_TIMES * underWayNanos, ALONE_PATIENCE_NANOS, MOST_OVERDUE_NANOS);
  }

  private boolean isInTime(long nanos, long boundNow) {
    long ahead = underWayNanos + (open == null ? 0 : open.expectedNanos());
    return ahead == 0 || ahead + nanos <= boundNow;
  }

  private boolean isInCount() {
    int operations = underWayOperations + (open == null ? 0 : open.operations());
    return operations < MAX_BEHIND_HOST_FUNCTIONS || !caller.hasHostFunctions();
  }

  /** Sees that there is an open batch that takes an operation; false if that cannot be now. */
  private boolean makeBatch(long context, long stream, Cost cost, long nanos) {
    boolean takes = open == null || !isFull(open, cost, nanos) && open.takes(context, stream, cost);
    if (!takes && !closeOpen(System.nanoTime())) {
      return false;
    }
    if (open == null) {
      open = new Batch(context, System.nanoTime());
    }
    return true;
  }

  private boolean isFull(Batch batch, Cost cost, long nanos) {
    boolean alone = sliceState == SliceState.UNCONTENDED;
    long most = alone ? ALONE_BATCH_NANOS : boundNanos / BATCHES_IN_BOUND;
    return batch.expectedNanos() + nanos > most
        || !alone && !cost.isKnown()
        || batch.operations() >= HOST_FUNCTION_BATCH && caller.hasHostFunctions();
  }

  /** False while a call is in the driver: its work would be behind the batch's last event. */
  private boolean closeOpen(long now) {
    if (calls.get() > 0 || !takeBack()) {
      return false;
    }
    if (open == null) {
      return true;
    }
    open.close(events, now);
    if (underWay.isEmpty()) {
      progressNanos = now;
    }
    underWay.add(open);
    underWayNanos += open.expectedNanos();
    underWayOperations += open.operations();
    open = null;
    return true;
  }

  private void harvest(long now) {
    while (!underWay.isEmpty() && underWay.peek().isReached(events)) {
      Batch batch = underWay.poll();
      leave(batch);
      account(batch);
      progressNanos = now;
    }
    while (!overdue.isEmpty() && overdue.peek().isReached(events)) {
      account(overdue.poll());
    }
  }

  private void leave(Batch batch) {
    underWayNanos -= batch.expectedNanos();
    underWayOperations -= batch.operations();
  }

  private void account(Batch batch) {
    long end = batch.lastEnd(events);
    long elapsed = batch.elapsedNanos(events, end);
    long spent = elapsed;
    if (previousEnd != TimingEvents.NONE && end != TimingEvents.NONE) {
      if (previousContext == batch.context) {
        // The batch before it may have taken part of that time.
        spent = Math.clamp(events.elapsedNanos(previousEnd, end), 0, elapsed);
      }
      events.release(previousContext, previousEnd);
    }
    if (sliceState == SliceState.UNCONTENDED && batch.isStarved(elapsed)) {
      spent = Math.min(spent, batch.expectedNanos());
    }
    batch.learn(elapsed);
    batch.release(events, end);
    previousEnd = end;
    previousContext = batch.context;
    time.addMeasured(spent);
  }

  private boolean isDrained() {
    return calls.get() == 0 && open == null && underWay.isEmpty();
  }

  /** What takes far too long does not count as under way any more. */
  private void giveUpOverdue(long now) {
    Batch oldest = underWay.peek();
    if (oldest == null) {
      return;
    }
    long patience =
        caller.hasHostFunctions()
            ? HOST_FUNCTION_OVERDUE_NANOS
            : Math.max(
                overdueNanos, Math.min(OVERDUE_TIMES * oldest.expectedNanos(), MOST_OVERDUE_NANOS));
    if (sliceState == SliceState.UNCONTENDED || now - progressNanos < patience) {
      return;
    }
    for (Batch batch : underWay) {
      leave(batch);
      overdue.add(batch);
    }
    underWay.clear();
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

  /** Sees to what is under way; returns when to look again, 0 for when there is work. */
  private synchronized long watchOnce(long now) {
    if (switching) {
      return WATCH_ALONE_NANOS;
    }
    if (!busy) {
      harvest(now);
      parked = overdue.isEmpty() && now - quietNanos > WATCH_IDLE_NANOS;
      return parked ? 0 : WATCH_ALONE_NANOS;
    }
    boolean alone = sliceState == SliceState.UNCONTENDED;
    if (alone && now - harvestedAt < HARVEST_ALONE_NANOS) {
      return renew(now);
    }
    harvestedAt = now;
    if (open != null && now - open.openedNanos > (alone ? ALONE_BATCH_NANOS : WATCH_NANOS)) {
      boolean ignored = closeOpen(now);
    }
    harvest(now);
    giveUpOverdue(now);
    if (isDrained() && waiting.get() == 0) {
      quietNanos = now;
      busy = false;
      time.workFinished();
      time.end(now);
      return alone ? WATCH_ALONE_NANOS : WATCH_NANOS;
    }
    return renew(now);
  }

  /** Sees whether others want the GPU; returns when to look again. */
  private long renew(long now) {
    sliceState = time.renew(now);
    if (sliceState == SliceState.UNCONTENDED) {
      return WATCH_ALONE_NANOS;
    }
    boolean ignored = takeBack();
    return WATCH_NANOS;
  }
}
