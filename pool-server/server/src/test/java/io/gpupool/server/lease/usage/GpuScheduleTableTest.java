// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.lease.usage.GpuScheduleTable.Levels;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.wire.SchedulePage;
import io.gpupool.wire.ScheduleSlot;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

public class GpuScheduleTableTest {
  private static final long SECOND = 1_000_000_000;

  private final GpuScheduleTable table = new GpuScheduleTable(2, Levels.LEASES);
  private final MemorySegment words;

  GpuScheduleTableTest() throws IOException {
    words = words(table);
  }

  /** The bytes of a table as workers have them. */
  static MemorySegment words(GpuScheduleTable table) throws IOException {
    Path path = Path.of("/proc/self/fd/" + table.share().intValue());
    try (FileChannel file =
        FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return file.map(FileChannel.MapMode.READ_WRITE, 0, file.size(), Arena.ofAuto());
    }
  }

  /** One for tests of other things. */
  public static GpuScheduleTable table(int gpus) {
    try {
      return new GpuScheduleTable(gpus, Levels.LEASES);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @AfterEach
  void close() throws IOException {
    table.close();
  }

  private long word(int gpu, int at) {
    return words.get(JAVA_LONG, (long) gpu * SchedulePage.BYTES + at);
  }

  private void put(int gpu, int at, long value) {
    words.set(JAVA_LONG, (long) gpu * SchedulePage.BYTES + at, value);
  }

  @Test
  void enter_leaseAndSession_areWhereWorkersLook() throws IOException {
    put(1, SchedulePage.VIRTUAL_NOW, 77);
    int first = table.enter(1, 2500, false, LeaseClass.BATCH);
    int second = table.enter(1, 3000, true, LeaseClass.LATENCY);
    table.enterSession(1, second, 5);
    table.enterSession(1, second, 2);
    assertThat(List.of(first, second)).containsExactly(0, 1);
    assertThat(word(1, SchedulePage.LEASES)).isEqualTo(2);
    assertThat(word(1, SchedulePage.leaseWord(1, SchedulePage.WEIGHT))).isEqualTo(3000);
    assertThat(word(1, SchedulePage.leaseWord(1, SchedulePage.HARD))).isEqualTo(1);
    assertThat(word(1, SchedulePage.leaseWord(0, SchedulePage.LATENCY))).isZero();
    assertThat(word(1, SchedulePage.leaseWord(1, SchedulePage.LATENCY))).isEqualTo(1);
    assertThat(word(1, SchedulePage.leaseWord(1, SchedulePage.VIRTUAL_TIME))).isEqualTo(77);
    assertThat(word(1, SchedulePage.leaseWord(1, SchedulePage.SESSIONS))).isEqualTo(6);
    assertThat(word(0, SchedulePage.LEASES)).isZero();
  }

  @Test
  void leave_itsTimeSlice_isNobodysAndTheNumberIsFree() throws IOException {
    int lease = table.enter(0, 2500, false, LeaseClass.BATCH);
    table.enterSession(0, lease, 3);
    put(0, SchedulePage.activeUntil(lease, 3), Long.MAX_VALUE);
    put(0, SchedulePage.TIME_SLICE, 0x1234_00 + lease + 1);
    put(0, SchedulePage.leaseWord(lease, SchedulePage.USED), 9);
    table.leaveSession(0, lease, 3);
    table.leave(0, lease);
    assertThat(word(0, SchedulePage.activeUntil(lease, 3))).isZero();
    assertThat(word(0, SchedulePage.TIME_SLICE)).isEqualTo(0x1234_00);
    assertThat(table.enter(0, 100, false, LeaseClass.BATCH)).isEqualTo(lease);
    assertThat(table.use(0, lease)).isEqualTo(GpuScheduleTable.Use.NONE);
  }

  @Test
  void leave_anothersTimeSlice_staysIts() throws IOException {
    int lease = table.enter(0, 2500, false, LeaseClass.BATCH);
    int other = table.enter(0, 2500, false, LeaseClass.BATCH);
    put(0, SchedulePage.TIME_SLICE, 0x1234_00 + other + 1);
    table.leave(0, lease);
    assertThat(word(0, SchedulePage.TIME_SLICE)).isEqualTo(0x1234_00 + other + 1);
  }

  @Test
  void enter_moreLeasesThanThereIsRoomFor_isRefused() throws IOException {
    for (int i = 0; i < SchedulePage.MAX_LEASES; i++) {
      table.enter(0, 100, false, LeaseClass.BATCH);
    }
    assertThatThrownBy(() -> table.enter(0, 100, false, LeaseClass.BATCH))
        .hasMessageContaining("128 leases");
    assertThat(table.enter(1, 100, false, LeaseClass.BATCH)).isZero();
  }

  @Test
  void recentPercent_someSecondsOfUse_isTheirsAlone() throws IOException {
    Gpu gpu = PlacementTest.gpu("host", 1, 1L << 30);
    List<Part> parts = List.of(new Part(gpu, null, new Share(1L << 20, 3000), false));
    LeaseTime time = new LeaseTime(table, parts, LeaseClass.BATCH, 0);
    int used = SchedulePage.leaseWord(time.leaseSlots(0).getFirst().entry(), SchedulePage.USED);
    for (int second = 1; second <= 60; second++) {
      put(1, used, word(1, used) + SECOND / (second < 50 ? 1 : 4));
      time.note(second * SECOND);
    }
    assertThat(time.recentPercent(0, 60 * SECOND)).isBetween(24.0, 26.0);
    time.close();
    assertThat(word(1, SchedulePage.leaseWord(0, SchedulePage.WEIGHT))).isZero();
  }

  @Test
  void lease_thatServesRequests_isMarkedOnEachOfItsGpus() throws IOException {
    List<Part> parts =
        List.of(
            new Part(
                PlacementTest.gpu("host", 0, 1L << 30), null, new Share(1L << 20, 3000), false),
            new Part(
                PlacementTest.gpu("host", 1, 1L << 30), null, new Share(1L << 20, 3000), false));
    LeaseTime serving = new LeaseTime(table, parts, LeaseClass.LATENCY, 0);
    assertThat(word(0, SchedulePage.leaseWord(0, SchedulePage.LATENCY))).isEqualTo(1);
    assertThat(word(1, SchedulePage.leaseWord(0, SchedulePage.LATENCY))).isEqualTo(1);
    serving.close();
    assertThat(new LeaseTime(table, parts, LeaseClass.BATCH, 0).leaseSlots(3))
        .containsExactly(new ScheduleSlot(0, 0, 3), new ScheduleSlot(1, 0, 3));
    assertThat(word(0, SchedulePage.leaseWord(0, SchedulePage.LATENCY))).isZero();
  }

  @Test
  void debtNanos_ofALeaseAheadOfTheOthers_isItsShareOfThat() throws IOException {
    put(0, SchedulePage.VIRTUAL_NOW, 5 * SECOND);
    int lease = table.enter(0, 2500, false, LeaseClass.BATCH);
    assertThat(table.debtNanos(0, lease, SECOND)).isZero();
    put(0, SchedulePage.leaseWord(lease, SchedulePage.VIRTUAL_TIME), 9 * SECOND);
    assertThat(table.debtNanos(0, lease, SECOND)).isEqualTo(SECOND);
    put(0, SchedulePage.VIRTUAL_NOW, 10 * SECOND);
    assertThat(table.debtNanos(0, lease, SECOND)).isZero();
  }

  @Test
  void debtNanos_ofAHardLease_isWhatItsTimeUntilTheNextTimeSliceIsWorth() throws IOException {
    int lease = table.enter(0, 2500, true, LeaseClass.BATCH);
    put(0, SchedulePage.leaseWord(lease, SchedulePage.NOT_BEFORE), 5 * SECOND);
    assertThat(table.debtNanos(0, lease, SECOND)).isEqualTo(SECOND);
    assertThat(table.debtNanos(0, lease, 6 * SECOND)).isZero();
    int lendable = table.enter(0, 2500, false, LeaseClass.BATCH);
    put(0, SchedulePage.leaseWord(lendable, SchedulePage.NOT_BEFORE), 5 * SECOND);
    assertThat(table.debtNanos(0, lendable, SECOND)).isZero();
  }

  @Test
  void debtNanos_ofAPageThatAWorkerHasWrittenOver_isNeverLessThanNone() throws IOException {
    int lease = table.enter(0, 2500, true, LeaseClass.BATCH);
    for (long word : new long[] {-1, Long.MIN_VALUE, Long.MAX_VALUE}) {
      put(0, SchedulePage.leaseWord(lease, SchedulePage.VIRTUAL_TIME), word);
      put(0, SchedulePage.leaseWord(lease, SchedulePage.NOT_BEFORE), word);
      assertThat(table.debtNanos(0, lease, SECOND)).isNotNegative();
    }
  }

  @Test
  void grantedNanos_ofALease_areItsShareOfTheTimeThatPasses() throws IOException {
    Gpu gpu = PlacementTest.gpu("host", 1, 1L << 30);
    List<Part> parts = List.of(new Part(gpu, null, new Share(1L << 20, 3000), false));
    try (LeaseTime time = new LeaseTime(table, parts, LeaseClass.BATCH, 10 * SECOND)) {
      assertThat(time.grantedNanos(0, 20 * SECOND)).isEqualTo(3 * SECOND);
      long years = 100_000_000L * SECOND;
      assertThat(time.grantedNanos(0, 10 * SECOND + years)).isEqualTo(years / 10 * 3);
    }
  }

  @Test
  void change_ofALease_isWhereWorkersLookAndIsRestored() throws IOException {
    int lease = table.enter(0, 5000, false, LeaseClass.BATCH);
    table.enterSession(0, lease, 4);
    table.change(0, lease, 2000, true, LeaseClass.LATENCY, SECOND);
    put(0, SchedulePage.leaseWord(lease, SchedulePage.LATENCY), 0);
    table.restore(0, lease);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.WEIGHT))).isEqualTo(2000);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.HARD))).isEqualTo(1);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.LATENCY))).isEqualTo(1);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.SESSIONS))).isEqualTo(5);
    table.change(0, lease, 8000, false, LeaseClass.BATCH, SECOND);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.WEIGHT))).isEqualTo(8000);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.HARD))).isZero();
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.LATENCY))).isZero();
  }

  @Test
  void change_ofALeaseThatIsAhead_owesTheSameTime() throws IOException {
    put(0, SchedulePage.VIRTUAL_NOW, 5 * SECOND);
    int lease = table.enter(0, 100, true, LeaseClass.BATCH);
    put(0, SchedulePage.leaseWord(lease, SchedulePage.VIRTUAL_TIME), 9 * SECOND);
    put(0, SchedulePage.leaseWord(lease, SchedulePage.NOT_BEFORE), 6 * SECOND);
    table.change(0, lease, 8000, true, LeaseClass.BATCH, 2 * SECOND);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.VIRTUAL_TIME)))
        .isEqualTo(5 * SECOND + SECOND / 20);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.NOT_BEFORE)))
        .isEqualTo(2 * SECOND + SECOND / 20);
    assertThat(table.debtNanos(0, lease, 2 * SECOND)).isEqualTo(SECOND / 25);
  }

  @Test
  void change_ofALeaseThatIsBehind_leavesItThere() throws IOException {
    put(0, SchedulePage.VIRTUAL_NOW, 5 * SECOND);
    int lease = table.enter(0, 5000, false, LeaseClass.BATCH);
    put(0, SchedulePage.leaseWord(lease, SchedulePage.VIRTUAL_TIME), SECOND);
    table.change(0, lease, 1000, false, LeaseClass.BATCH, 2 * SECOND);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.VIRTUAL_TIME))).isEqualTo(SECOND);
  }

  @Test
  void page_thatAWorkerWritesOver_hidesNoFreeNumberAndIsRestored() throws IOException {
    int lease = table.enter(0, 2500, true, LeaseClass.BATCH);
    table.enterSession(0, lease, 1);
    for (int at = 0; at < SchedulePage.BYTES; at += Long.BYTES) {
      put(0, at, -1);
    }

    assertThat(table.enter(0, 3000, false, LeaseClass.BATCH)).isEqualTo(lease + 1);
    table.restore(0, lease);

    assertThat(word(0, SchedulePage.LEASES)).isEqualTo(2);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.WEIGHT))).isEqualTo(2500);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.HARD))).isEqualTo(1);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.SESSIONS))).isEqualTo(2);
    assertThat(word(0, SchedulePage.leaseWord(lease, SchedulePage.LATENCY))).isZero();
  }
}
