// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.cuda.DriverTime;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.wire.TurnPage;
import io.gpupool.wire.TurnPlace;
import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.os.TestFiles;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class GpuTurnTest {
  private static final long MILLI = 1_000_000;
  private static final long PIECE_NANOS = 50_000;
  private static final long AN_HOUR_NANOS = 3_600_000_000_000L;

  private final MemorySegment page = Arena.ofAuto().allocate(TurnPage.BYTES, 64);
  private final SharedTurns turns = new SharedTurns(page);
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean stopped;

  @AfterEach
  void stop() throws InterruptedException {
    stopped = true;
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private GpuTurn session(int lease, int session, int weight, boolean hard) {
    put(TurnPage.LEASES, Math.max(lease + 1, turns.count()));
    put(TurnPage.leaseWord(lease, TurnPage.HARD), hard ? 1 : 0);
    put(TurnPage.leaseWord(lease, TurnPage.SESSIONS), session + 1);
    put(TurnPage.leaseWord(lease, TurnPage.WEIGHT), weight);
    return new GpuTurn(turns, lease, session);
  }

  private void put(int at, long value) {
    page.set(JAVA_LONG, at, value);
  }

  private long usedNanos(int lease) {
    return page.get(JAVA_LONG, TurnPage.leaseWord(lease, TurnPage.USED));
  }

  /** A thread that always has work, and looks up after each piece of it. */
  private void keepBusy(GpuTurn turn) {
    threads.add(
        Thread.ofPlatform()
            .start(() -> {
              DeviceTime.Use use = () -> !stopped;
              while (!stopped) {
                if (turn.begin(use, System.nanoTime()) != DeviceTime.NOT_NOW) {
                  for (int piece = 0; piece < 20 && !stopped; piece++) {
                    work();
                    long held = turn.pass(use);
                    assertThat(held).isNotNegative();
                  }
                  turn.end(System.nanoTime());
                }
              }
            }));
  }

  private static void work() {
    long start = System.nanoTime();
    while (System.nanoTime() - start < PIECE_NANOS) {
      Thread.onSpinWait();
    }
  }

  private void awaitUsed(long nanos) throws InterruptedException {
    while (usedNanos(0) + usedNanos(1) < nanos) {
      Thread.sleep(5);
    }
  }

  @Test
  void turns_twoAlwaysBusy_areByWeight() throws InterruptedException {
    keepBusy(session(0, 0, 7000, false));
    keepBusy(session(1, 0, 3000, false));
    awaitUsed(600 * MILLI);
    double share = (double) usedNanos(0) / (usedNanos(0) + usedNanos(1));
    assertThat(share).isBetween(0.6, 0.8);
  }

  @Test
  void turns_severalThreadsOfALease_countOnce() throws InterruptedException {
    GpuTurn flooding = session(0, 0, 5000, false);
    for (int i = 0; i < 4; i++) {
      keepBusy(flooding);
    }
    GpuTurn other = session(1, 0, 5000, false);
    keepBusy(other);
    awaitUsed(600 * MILLI);
    double share = (double) usedNanos(0) / (usedNanos(0) + usedNanos(1));
    assertThat(share).isBetween(0.4, 0.6);
    assertThat(flooding.waitedNanos()).isPositive();
    assertThat(other.usedNanos()).isPositive();
  }

  @Test
  void turns_hardAlone_takesAsLongAsItsShareSays() throws InterruptedException {
    long start = System.nanoTime();
    keepBusy(session(0, 0, 3000, true));
    awaitUsed(120 * MILLI);
    // What a turn took too long for is paid before the next one.
    long used = usedNanos(0);
    awaitUsed(used + 1);
    // Up to two rounds are on credit, and a turn may be on its way.
    long least = (used - 5 * MILLI) * 10 / 3 - 3 * FairShares.ROUND_NANOS;
    assertThat(System.nanoTime() - start).isGreaterThan(least);
  }

  @Test
  void throttledNanos_ofAHardLeaseThatIsAlone_areAboutAllThatItWaited()
      throws InterruptedException {
    GpuTurn turn = session(0, 0, 1000, true);
    keepBusy(turn);
    awaitUsed(20 * MILLI);
    stop();
    assertThat(turn.throttledNanos()).isBetween(turn.waitedNanos() / 2, turn.waitedNanos());
    assertThat(turn.throttledNanos()).isPositive().isEqualTo(throttledNanos(0));
  }

  @Test
  void throttledNanos_ofALendableLease_areNone() throws InterruptedException {
    GpuTurn turn = session(0, 0, 5000, false);
    keepBusy(turn);
    keepBusy(session(1, 0, 5000, false));
    awaitUsed(100 * MILLI);
    stop();
    assertThat(turn.waitedNanos()).isPositive();
    assertThat(turn.throttledNanos()).isZero();
  }

  @Test
  void throttledNanos_whileAnotherHasTheGpu_areNone() throws InterruptedException {
    GpuTurn hard = session(0, 0, 1000, true);
    session(1, 0, 5000, false);
    put(TurnPage.leaseWord(0, TurnPage.NOT_BEFORE), System.nanoTime() + AN_HOUR_NANOS);
    beActive(1);
    keepTurnYoung(1);
    keepBusy(hard);
    Thread.sleep(50);
    stop();
    assertThat(hard.waitedNanos()).isPositive();
    assertThat(hard.throttledNanos()).isZero();
  }

  private long throttledNanos(int lease) {
    return page.get(JAVA_LONG, TurnPage.leaseWord(lease, TurnPage.THROTTLED));
  }

  @Test
  void begin_holderGivesNoSignOfLife_goesOnWithoutIt() {
    GpuTurn silent = session(0, 0, 5000, false);
    GpuTurn other = session(1, 0, 5000, false);
    assertThat(silent.begin(DeviceTime.ALWAYS, System.nanoTime())).isNotEqualTo(DeviceTime.NOT_NOW);
    other.await(System.nanoTime());
    assertThat(other.isOver()).isFalse();
    assertThat(silent.isOver()).isTrue();
    assertThat(usedNanos(0)).isGreaterThanOrEqualTo(GpuTurn.LAPSE_NANOS - MILLI);
    other.end(System.nanoTime());
  }

  @Test
  void begin_holderIsIdle_takesTheTurnAndChargesItForItsWork() {
    GpuTurn idle = session(0, 0, 5000, false);
    GpuTurn other = session(1, 0, 5000, false);
    long start = System.nanoTime();
    assertThat(idle.begin(DeviceTime.ALWAYS, start)).isEqualTo(start);
    long end = System.nanoTime();
    idle.end(end);
    other.await(System.nanoTime());
    assertThat(idle.isOver()).isTrue();
    assertThat(usedNanos(0)).isBetween(1L, end - start + 2 * Pauses.LEAST_NANOS);
    other.end(System.nanoTime());
  }

  @Test
  void begin_useIsNotWantedAnyMore_givesUp() {
    GpuTurn holder = session(0, 0, 5000, false);
    GpuTurn other = session(1, 0, 5000, false);
    holder.await(System.nanoTime());
    AtomicInteger asked = new AtomicInteger();
    DeviceTime.Use use = () -> asked.incrementAndGet() < 2;
    assertThat(other.begin(use, System.nanoTime())).isEqualTo(DeviceTime.NOT_NOW);
    holder.end(System.nanoTime());
  }

  @Test
  void begin_otherSessionOfTheLease_joinsInItsTurn() {
    GpuTurn one = session(0, 0, 5000, false);
    GpuTurn other = session(0, 1, 5000, false);
    long now = System.nanoTime();
    one.await(now);
    assertThat(other.begin(DeviceTime.ALWAYS, now)).isEqualTo(now);
    assertThat(one.isOver() || other.isOver()).isFalse();
  }

  @Test
  void end_nobodyWaited_onlyWorkIsCharged() {
    GpuTurn turn = session(0, 0, 10_000, false);
    long now = System.nanoTime();
    for (int i = 0; i < 10; i++) {
      assertThat(turn.begin(DeviceTime.ALWAYS, now)).isEqualTo(now);
      turn.end(now + MILLI);
      now += 5 * MILLI;
    }
    assertThat(usedNanos(0)).isBetween(9 * MILLI - 20_000, 10 * MILLI);
    assertThat(turn.usedNanos()).isBetween(10 * MILLI - 1000, 10 * MILLI + 1000);
  }

  @Test
  void join_fileTooShort_saysSo(@TempDir Path folder) throws IOException {
    Path file = Files.write(folder.resolve("turns"), new byte[TurnPage.BYTES]);
    try (ServerFile handed = TestFiles.open(file)) {
      GpuTurn first = GpuTurn.join(handed, new TurnPlace(0, 0, 0));
      assertThat(first.isOver()).isTrue();
      assertThatThrownBy(() -> GpuTurn.join(handed, new TurnPlace(1, 0, 0)))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("the server's file has " + TurnPage.BYTES + " bytes");
    }
  }

  private GpuTurn holder(int lease, int session) {
    GpuTurn turn = session(lease, session, 5000, false);
    assertThat(turn.begin(DeviceTime.ALWAYS, System.nanoTime())).isNotEqualTo(DeviceTime.NOT_NOW);
    return turn;
  }

  private void beActive(int lease) {
    put(TurnPage.activeUntil(lease, 0), System.nanoTime() + AN_HOUR_NANOS);
  }

  /** The turn began so long ago that it is over. */
  private void makeTurnOld(int lease) {
    put(TurnPage.TURN, SharedTurns.turnOf(lease, System.nanoTime() - 20 * MILLI));
  }

  /** However slow this machine is, the turn is not over. */
  private void keepTurnYoung(int lease) {
    put(TurnPage.TURN, SharedTurns.turnOf(lease, System.nanoTime() + AN_HOUR_NANOS));
  }

  @Test
  void hold_ofALeaseThatIsAlone_saysSo() {
    session(1, 0, 5000, false);
    GpuTurn turn = holder(0, 0);
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.ALONE);
    makeTurnOld(0);
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.ALONE);
  }

  @Test
  void hold_whileAnotherHasWork_endsWithTheTurn() {
    session(1, 0, 5000, false);
    GpuTurn turn = holder(0, 0);
    beActive(1);
    keepTurnYoung(0);
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.SHARED);
    makeTurnOld(0);
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.OVER);
  }

  @Test
  void hold_afterAKernelLongerThanSeveralTurns_countsItBeforeTheNextBegins() {
    session(1, 0, 5000, false);
    GpuTurn turn = holder(0, 0);
    beActive(1);
    // By what is in the books it is this lease's turn for long.
    put(TurnPage.leaseWord(1, TurnPage.VIRTUAL_TIME), 50 * MILLI);
    makeTurnOld(0);
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.SHARED);
    turn.used(50 * MILLI);
    makeTurnOld(0);
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.OVER);
  }

  @Test
  void virtualTime_ofTheGpu_doesNotPassALeaseThatHadWorkJustBefore() {
    session(0, 0, 7000, false);
    session(1, 0, 3000, false);
    put(TurnPage.leaseWord(0, TurnPage.VIRTUAL_TIME), 300 * MILLI);
    put(TurnPage.leaseWord(1, TurnPage.VIRTUAL_TIME), 200 * MILLI);
    long now = System.nanoTime();
    turns.activeUntil(1, 0, now - MILLI);
    turns.serve(0, now);
    assertThat(turns.virtualNow()).isEqualTo(200 * MILLI);
    turns.serve(0, now + 10 * MILLI);
    assertThat(turns.virtualNow()).isEqualTo(300 * MILLI);
  }

  @Test
  void measuredTime_lessThanWasCharged_makesLaterWorkFree() {
    GpuTurn turn = holder(0, 0);
    turn.used(10 * MILLI);
    turns.chargeMeasured(0, System.nanoTime());
    turns.addMeasured(0, -4 * MILLI);
    turns.chargeMeasured(0, System.nanoTime());
    turn.used(5 * MILLI);
    turns.chargeMeasured(0, System.nanoTime());
    assertThat(usedNanos(0)).isEqualTo(11 * MILLI);
  }

  @Test
  void hold_ofAHardLeaseThatIsAlone_endsWithTheTurn() {
    GpuTurn turn = session(0, 0, 3000, true);
    long began = turn.begin(DeviceTime.ALWAYS, System.nanoTime());
    assertThat(began).isNotEqualTo(DeviceTime.NOT_NOW);
    keepTurnYoung(0);
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.SHARED);
    put(TurnPage.leaseWord(0, TurnPage.NOT_BEFORE), System.nanoTime() + AN_HOUR_NANOS);
    makeTurnOld(0);
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.OVER);
  }

  @Test
  void turn_ofALeaseWithWorkUnderWay_doesNotGoToAnother() {
    session(1, 0, 5000, false);
    GpuTurn first = holder(0, 0);
    GpuTurn second = holder(0, 1);
    assertThat(first.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.ALONE);
    assertThat(second.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.ALONE);
    beActive(1);
    makeTurnOld(0);
    first.finished();
    threads.add(Thread.ofPlatform().start(() -> first.pass(() -> !stopped)));
    long until = System.nanoTime() + 20 * MILLI;
    while (System.nanoTime() < until) {
      assertThat(second.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.OVER);
      assertThat(SharedTurns.holder(turns.turn())).isZero();
    }
    second.finished();
    awaitHolder(1);
    stopped = true;
    put(TurnPage.activeUntil(1, 0), 0);
  }

  private void awaitHolder(int lease) {
    while (SharedTurns.holder(turns.turn()) != lease) {
      Thread.onSpinWait();
    }
  }

  /** A session of a lease that serves requests. */
  private GpuTurn serving(int lease) {
    GpuTurn turn = session(lease, 0, 5000, false);
    put(TurnPage.leaseWord(lease, TurnPage.LATENCY), 1);
    return turn;
  }

  @Test
  void hold_besideALatencyLeaseWithoutWork_isShared() {
    GpuTurn turn = holder(0, 0);
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.ALONE);
    GpuTurn ignored = serving(1);
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.SHARED);
  }

  @Test
  void turn_askedBackByALatencyLease_isOverAtOnce() {
    GpuTurn latency = serving(1);
    GpuTurn turn = holder(0, 0);
    keepTurnYoung(0);
    beActive(0);
    threads.add(Thread.ofPlatform().start(() -> latency.pass(() -> !stopped)));
    while (turns.recall() != turns.turn()) {
      Thread.onSpinWait();
    }
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.OVER);
    turn.finished();
    threads.add(Thread.ofPlatform().start(() -> turn.pass(() -> !stopped)));
    awaitHolder(1);
    stopped = true;
  }

  @Test
  void turn_askedBackTooSoonByABatchLease_goesOn() {
    session(1, 0, 5000, false);
    GpuTurn turn = holder(0, 0);
    beActive(1);
    keepTurnYoung(0);
    put(TurnPage.RECALL, turns.turn());
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.SHARED);
    assertThat(turn.pass(DeviceTime.ALWAYS)).isZero();
  }

  @Test
  void turn_askedBackForALatencyLeaseWithoutCredit_goesOn() {
    GpuTurn ignored = serving(1);
    put(TurnPage.leaseWord(1, TurnPage.VIRTUAL_TIME), AN_HOUR_NANOS);
    GpuTurn turn = holder(0, 0);
    beActive(1);
    keepTurnYoung(0);
    put(TurnPage.RECALL, turns.turn());
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.SHARED);
  }

  @Test
  void turn_keptInAPause_isALatencyLeasesForTheAsking() {
    GpuTurn latency = serving(1);
    GpuTurn turn = holder(0, 0);
    long now = System.nanoTime();
    turn.end(now);
    assertThat(latency.begin(() -> false, now)).isEqualTo(now);
    assertThat(turn.isOver()).isTrue();
    assertThat(latency.isOver()).isFalse();
  }

  @Test
  void end_whileALatencyLeaseAsksForTheTurn_passesItOn() {
    GpuTurn ignored = serving(1);
    GpuTurn turn = holder(0, 0);
    beActive(1);
    put(TurnPage.RECALL, turns.turn());
    turn.end(System.nanoTime());
    assertThat(SharedTurns.holder(turns.turn())).isEqualTo(1);
  }

  @Test
  void measuredTime_ofTwoSessionsAtOnce_countsOnceForTheirLease() {
    GpuTurn first = holder(0, 0);
    GpuTurn second = holder(0, 1);
    assertThat(first.hold(System.nanoTime())).isNotNull();
    assertThat(second.hold(System.nanoTime())).isNotNull();
    first.used(0);
    second.used(0);
    first.used(2 * MILLI);
    second.used(2 * MILLI);
    makeTurnOld(0);
    assertThat(first.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.ALONE);
    assertThat(usedNanos(0)).isEqualTo(2 * MILLI);
    assertThat(first.usedNanos()).isEqualTo(2 * MILLI);
  }

  @Test
  void turn_thatWasMeasured_costsThatAndNotItsLength() {
    session(1, 0, 5000, false);
    GpuTurn turn = holder(0, 0);
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.ALONE);
    turn.used(3 * MILLI);
    makeTurnOld(0);
    assertThat(turn.hold(System.nanoTime())).isEqualTo(DriverTime.Hold.ALONE);
    assertThat(usedNanos(0)).isEqualTo(3 * MILLI);
  }
}
