// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import io.gpupool.soft.exec.DeviceTime;
import io.gpupool.worker.os.ServerFile;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * This session's part in the turns of a GPU: its threads run while it is its lease's turn, and wait
 * while it is another's. Any thread may call it.
 */
public final class GpuTurn implements DeviceTime {
  /*
   * The turn is one word of shared memory, and whoever finds that it may go to another lease passes
   * it on by compare-and-set: the holder, when its time is over and others have work; else one who
   * waits, when the holder is not active any more. So no worker that dies or is stopped holds up the
   * others for longer than the time for which it has said that it is active.
   *
   * A turn is not given back when a kernel ends but a moment later (Pauses), or programs that wait
   * for each of their kernels would lose their turn with each. That moment is charged if another
   * waited for it; a holder that comes back later to find that nobody did is charged for its work
   * alone.
   *
   * Other tenants' workers write to the page, too: whatever is in it, nothing here fails or waits for
   * ever (Trust).
   */

  /** For so long a session that has work counts as active without a sign of life. */
  static final long LAPSE_NANOS = 100_000_000;

  /** How long a thread waits before it looks for other devices' work. */
  private static final long BOUND_NANOS = 4_000_000;

  private static final long LOOK_NANOS = 500_000;
  private static final long LOOK_SELDOM_NANOS = 2_000_000;
  private static final long LOOK_LAST_NANOS = 20_000_000;

  /** A hundredth of a GPU: no lease has less. */
  private static final long LEAST_WEIGHT = 100;

  private static final long AN_HOUR_NANOS = 3_600_000_000_000L;

  private final SharedTurns turns;
  private final int lease;
  private final int session;
  private final Users users = new Users();
  private final Pauses pauses = new Pauses();
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicBoolean watched = new AtomicBoolean();
  private final LongAdder waitedNanos = new LongAdder();
  private final Trust trust;

  /** The turn under which threads run; 0 for none. */
  private volatile long turn;

  private volatile long untilNanos;

  /** What this session had used when its turn began. */
  private volatile long usedBeforeNanos;

  GpuTurn(SharedTurns turns, int lease, int session) {
    this(turns, lease, session, Trust.PATIENCE_NANOS);
  }

  GpuTurn(SharedTurns turns, int lease, int session, long patienceNanos) {
    this.turns = turns;
    this.lease = lease;
    this.session = session;
    trust = new Trust(patienceNanos);
  }

  /**
   * Joins in the turns of a GPU.
   *
   * @param file the pool-server's, with a page for each of its GPUs
   * @param gpu the GPU's number there
   * @param lease the lease's number on that GPU
   * @param session the session's slot in the lease
   * @throws IOException if there is no such page
   */
  public static GpuTurn join(ServerFile file, int gpu, int lease, int session) throws IOException {
    return new GpuTurn(SharedTurns.open(file, gpu), lease, session);
  }

  /** Time in which this session had the GPU and used it. */
  public long usedNanos() {
    return users.busyNanos(System.nanoTime());
  }

  /** Time in which it had work and waited for its turn. */
  public long waitedNanos() {
    return waitedNanos.sum();
  }

  @Override
  public long begin(Use use, long nowNanos) {
    long idleSince = users.enter(nowNanos);
    if (idleSince != Users.NOT_IDLE) {
      if (nowNanos - idleSince > pauses.graceNanos()) {
        giveBack(idleSince, nowNanos);
      }
      pauses.note(nowNanos - idleSince);
      turns.activeUntil(lease, session, nowNanos + LAPSE_NANOS);
    }
    if (trust.isAlone() || isMine(nowNanos) || take(nowNanos)) {
      return nowNanos;
    }
    if (await(use, nowNanos, true)) {
      return System.nanoTime();
    }
    leave(System.nanoTime());
    return NOT_NOW;
  }

  @Override
  public void end(long nowNanos) {
    leave(nowNanos);
  }

  @Override
  public boolean isOver() {
    if (trust.isAlone()) {
      return false;
    }
    long mine = turn;
    return mine == 0 || turns.turn() != mine || turns.recall() == mine;
  }

  @Override
  public long pass(Use use) {
    long now = System.nanoTime();
    if (trust.isAlone() || isMine(now) || take(now)) {
      return 0;
    }
    // A use that is not wanted any more goes on, to its end.
    boolean ignored = await(use, now, false);
    return System.nanoTime() - now;
  }

  private boolean isMine(long now) {
    return now - untilNanos < 0 && !isOver();
  }

  private void leave(long now) {
    // Said before the count says so: who comes to a count of 0 then says more, and has the last
    // word.
    boolean ending = users.isLast() && waiting.get() == 0;
    if (ending) {
      turns.activeUntil(lease, session, now + pauses.graceNanos());
    }
    boolean last = users.leave(now);
    if (ending && (!last || waiting.get() > 0)) {
      // Others came meanwhile, and may have said so before the line above did.
      turns.activeUntil(lease, session, now + LAPSE_NANOS);
    }
  }

  /** Ends a turn that nobody wanted after this session's work had ended. */
  private void giveBack(long idleSince, long now) {
    long mine = turn;
    if (mine == 0 || turns.turn() != mine || turns.isActive(lease, now)) {
      return;
    }
    if (turns.turn(mine, SharedTurns.turnOf(FairShares.NOBODY, idleSince))) {
      turn = 0;
      turns.charge(lease, idleSince - SharedTurns.startNanos(mine), idleSince);
    }
  }

  /** Goes on with the turn or takes it, if it is this lease's; else sees that somebody has it. */
  private boolean take(long now) {
    turns.activeUntil(lease, session, now + LAPSE_NANOS);
    while (true) {
      long current = turns.turn();
      int holder = SharedTurns.holder(current);
      long held = Math.max(0, now - SharedTurns.startNanos(current));
      if (holder == lease) {
        boolean recalled = turns.recall() == current && held >= FairShares.MIN_TURN_NANOS;
        if (!recalled && held < FairShares.turnNanos(turns.weight(lease))) {
          adopt(current);
          return true;
        }
      } else if (holder >= 0) {
        long until = turns.activeUntil(holder, now);
        if (until - now > 0) {
          return false;
        }
        held = Math.clamp(until - SharedTurns.startNanos(current), 0, held);
      }
      int next = FairShares.next(turns, now, holder, held);
      if (next == FairShares.NOBODY && holder == FairShares.NOBODY) {
        return false;
      }
      long following = SharedTurns.turnOf(next, now);
      if (turns.turn(current, following)) {
        if (holder >= 0) {
          turns.charge(holder, held, now);
        }
        return given(next, holder, following);
      }
    }
  }

  private boolean given(int next, int before, long following) {
    if (next != FairShares.NOBODY) {
      turns.serve(next);
    }
    if (next == lease) {
      adopt(following);
      return true;
    }
    if (next >= 0 && next != before) {
      turns.openGate(next);
    }
    return false;
  }

  private void adopt(long current) {
    trust.served();
    turn = current;
    usedBeforeNanos = users.busyNanos(System.nanoTime());
    untilNanos = SharedTurns.startNanos(current) + FairShares.turnNanos(turns.weight(lease));
  }

  /**
   * Waits for the lease's turn. The thread is no user meanwhile, and is one again afterwards.
   *
   * @return whether it is the lease's turn; if not, the use is not wanted, or the bound is reached
   */
  private boolean await(Use use, long since, boolean bounded) {
    waiting.incrementAndGet();
    leave(since);
    boolean watching = false;
    long watchedSince = since;
    try {
      while (true) {
        int gate = turns.gate(lease);
        long now = System.nanoTime();
        if (take(now) || trust.isAlone() || trust.isExhausted(now, owedNanos(now))) {
          return true;
        }
        if (!use.isWanted() || bounded && now - since > BOUND_NANOS) {
          return false;
        }
        if (!watching && watched.compareAndSet(false, true)) {
          watching = true;
          watchedSince = now;
        }
        turns.awaitGate(lease, gate, watching ? watch(now) : LOOK_LAST_NANOS);
      }
    } finally {
      long now = System.nanoTime();
      long ignored = users.enter(now);
      if (watching) {
        waitedNanos.add(now - watchedSince);
        turns.addWaited(lease, now - watchedSince);
        watched.set(false);
      }
      if (waiting.decrementAndGet() > 0 && watching) {
        // One of them has to watch now, or they too have their turn.
        turns.openGate(lease);
      }
    }
  }

  /** What a hard lease may have to wait for this session's last turn, and as much again. */
  private long owedNanos(long now) {
    long used = Math.clamp(users.busyNanos(now) - usedBeforeNanos, 0, AN_HOUR_NANOS);
    long weight = Math.max(LEAST_WEIGHT, turns.weight(lease));
    return turns.isHard(lease) ? 2 * used * FairShares.WHOLE / weight : 0;
  }

  /** Asks the turn back if it may; says when to look again. */
  private long watch(long now) {
    long current = turns.turn();
    int holder = SharedTurns.holder(current);
    if (!FairShares.mayRun(turns, lease, now, 0)) {
      return Math.clamp(turns.notBefore(lease) - now, LOOK_NANOS / 10, LOOK_LAST_NANOS);
    }
    if (holder < 0 || holder == lease) {
      return LOOK_NANOS / 10;
    }
    long held = Math.max(0, now - SharedTurns.startNanos(current));
    if (FairShares.asksBack(turns, lease, now, holder, held)) {
      turns.recall(current);
    }
    boolean isNext = FairShares.next(turns, now, holder, AN_HOUR_NANOS) == lease;
    long look = isNext ? LOOK_NANOS : LOOK_SELDOM_NANOS;
    long rest = FairShares.turnNanos(turns.weight(holder)) - held;
    return rest > 0 ? Math.min(rest, look) : look;
  }
}
