// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.wire.TurnPage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A session on a page of turns that another tenant's worker writes to as it likes. */
@Timeout(60)
class HostilePageTest {
  private static final int VICTIM = 0;
  private static final int HOSTILE = 1;
  private static final long PATIENCE_NANOS = 20_000_000;
  private static final long FAR = Long.MAX_VALUE / 4;

  private final MemorySegment page = Arena.ofAuto().allocate(TurnPage.BYTES, 64);

  private GpuTurn victim() {
    put(TurnPage.LEASES, 2);
    put(TurnPage.leaseWord(VICTIM, TurnPage.WEIGHT), 5000);
    put(TurnPage.leaseWord(VICTIM, TurnPage.SESSIONS), 1);
    put(TurnPage.leaseWord(HOSTILE, TurnPage.WEIGHT), 5000);
    put(TurnPage.leaseWord(HOSTILE, TurnPage.SESSIONS), 1);
    return new GpuTurn(new SharedTurns(page), VICTIM, 0, PATIENCE_NANOS);
  }

  private void put(int at, long value) {
    page.set(JAVA_LONG, at, value);
  }

  /** Runs a piece of work to its end; hangs if the session never has the GPU. */
  private static void work(GpuTurn turn) {
    while (turn.begin(DeviceTime.ALWAYS, System.nanoTime()) == DeviceTime.NOT_NOW) {
      Thread.onSpinWait();
    }
    long held = turn.pass(DeviceTime.ALWAYS);
    assertThat(held).isNotNegative();
    turn.end(System.nanoTime());
  }

  static Stream<Arguments> pages() {
    return Stream.of(
        page(
            "another keeps the turn",
            test -> {
              test.put(TurnPage.TURN, SharedTurns.turnOf(HOSTILE, System.nanoTime()));
              test.put(TurnPage.activeUntil(HOSTILE, 0), System.nanoTime() + FAR);
            }),
        page(
            "a turn from the future",
            test -> {
              test.put(TurnPage.TURN, SharedTurns.turnOf(HOSTILE, System.nanoTime() + FAR / 8));
              test.put(TurnPage.activeUntil(HOSTILE, 0), System.nanoTime() + FAR);
            }),
        page(
            "the victim has used up its time",
            test -> {
              test.put(TurnPage.leaseWord(VICTIM, TurnPage.HARD), 1);
              test.put(TurnPage.leaseWord(VICTIM, TurnPage.NOT_BEFORE), System.nanoTime() + FAR);
            }),
        page(
            "the victim is far ahead",
            test -> {
              test.put(TurnPage.leaseWord(VICTIM, TurnPage.VIRTUAL_TIME), Long.MAX_VALUE);
              test.put(TurnPage.TURN, SharedTurns.turnOf(HOSTILE, System.nanoTime()));
              test.put(TurnPage.activeUntil(HOSTILE, 0), System.nanoTime() + FAR);
            }),
        page(
            "another serves requests and never uses up its credit",
            test -> {
              test.put(TurnPage.leaseWord(HOSTILE, TurnPage.LATENCY), 1);
              test.put(TurnPage.leaseWord(HOSTILE, TurnPage.VIRTUAL_TIME), Long.MIN_VALUE / 2);
              test.put(TurnPage.TURN, SharedTurns.turnOf(HOSTILE, System.nanoTime()));
              test.put(TurnPage.activeUntil(HOSTILE, 0), System.nanoTime() + FAR);
            }),
        page(
            "everybody serves requests, and every turn is asked back",
            test -> {
              test.put(TurnPage.leaseWord(VICTIM, TurnPage.LATENCY), -1);
              test.put(TurnPage.leaseWord(HOSTILE, TurnPage.LATENCY), -1);
              test.put(TurnPage.VIRTUAL_NOW, Long.MAX_VALUE);
              test.put(TurnPage.TURN, SharedTurns.turnOf(VICTIM, System.nanoTime()));
              test.put(TurnPage.RECALL, SharedTurns.turnOf(VICTIM, System.nanoTime()));
              test.put(TurnPage.activeUntil(HOSTILE, 0), System.nanoTime() + FAR);
            }),
        page("there is no lease", test -> test.put(TurnPage.LEASES, 0)),
        page(
            "the victim has no weight",
            test -> test.put(TurnPage.leaseWord(VICTIM, TurnPage.WEIGHT), 0)),
        page(
            "weights below nothing",
            test -> test.put(TurnPage.leaseWord(VICTIM, TurnPage.WEIGHT), Long.MIN_VALUE)),
        page("the turn of a lease that cannot be", test -> test.put(TurnPage.TURN, 0xfa)),
        page(
            "more leases and sessions than there can be",
            test -> {
              test.put(TurnPage.LEASES, Long.MAX_VALUE);
              test.put(TurnPage.leaseWord(VICTIM, TurnPage.SESSIONS), Long.MAX_VALUE);
            }));
  }

  private static Arguments page(String name, Consumer<HostilePageTest> change) {
    return Arguments.argumentSet(name, change);
  }

  @ParameterizedTest
  @MethodSource("pages")
  void session_whateverThePageSays_runsAfterAWhile(Consumer<HostilePageTest> change) {
    GpuTurn turn = victim();
    change.accept(this);
    work(turn);
    change.accept(this);
    work(turn);
  }

  @Test
  void session_whileAnotherScribblesOverThePage_goesOnWithoutAFault() throws Exception {
    GpuTurn turn = victim();
    boolean[] over = new boolean[1];
    Thread scribbler =
        Thread.ofPlatform()
            .start(() -> {
              Random random = new Random(7);
              while (!over[0]) {
                int word = random.nextInt((int) (page.byteSize() / 8));
                long value = random.nextBoolean() ? random.nextLong() : random.nextInt(4) - 1;
                put(8 * word, value);
                put(TurnPage.TURN, random.nextLong());
                put(TurnPage.leaseWord(HOSTILE, TurnPage.LATENCY), random.nextInt(2));
                put(TurnPage.leaseWord(VICTIM, TurnPage.WEIGHT), random.nextInt(2));
                Thread.yield();
              }
            });
    try {
      for (int i = 0; i < 2000; i++) {
        work(turn);
      }
    } finally {
      over[0] = true;
      scribbler.join();
    }
  }
}
