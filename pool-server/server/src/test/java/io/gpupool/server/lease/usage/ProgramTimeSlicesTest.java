// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.lease.usage.GpuScheduleTable.Levels;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.wire.SchedulePage;
import io.gpupool.wire.ScheduleSlot;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ProgramTimeSlicesTest {
  private static final long SECOND = 1_000_000_000;

  private final GpuScheduleTable table = new GpuScheduleTable(2, Levels.PROGRAMS);
  private final MemorySegment words;

  ProgramTimeSlicesTest() throws IOException {
    words = GpuScheduleTableTest.words(table);
  }

  @AfterEach
  void close() throws IOException {
    table.close();
  }

  private LeaseTime lease(int gpu, int basisPoints) throws IOException {
    Part part =
        new Part(
            PlacementTest.gpu("host", gpu, 1L << 30),
            null,
            new Share(1L << 20, basisPoints),
            false);
    return new LeaseTime(table, List.of(part), LeaseClass.BATCH, 0);
  }

  private long at(ScheduleSlot place, int word) {
    return (long) place.page() * SchedulePage.BYTES + SchedulePage.leaseWord(place.entry(), word);
  }

  private long get(ScheduleSlot place, int word) {
    return words.get(JAVA_LONG, at(place, word));
  }

  private void put(ScheduleSlot place, int word, long value) {
    words.set(JAVA_LONG, at(place, word), value);
  }

  @Test
  void sessions_ofOneLease_takeTimeSlicesAsEqualsOnAPageOfTheirOwn() throws IOException {
    LeaseTime lease = lease(1, 3000);
    LeaseTime other = lease(1, 5000);
    lease.enterSession(0);
    lease.enterSession(2);
    other.enterSession(0);
    ScheduleSlot first = lease.programSlots(0).getFirst();
    ScheduleSlot second = lease.programSlots(2).getFirst();
    assertThat(second.page()).isEqualTo(first.page());
    assertThat(second.entry()).isNotEqualTo(first.entry());
    assertThat(other.programSlots(0).getFirst().page()).isNotEqualTo(first.page());
    assertThat(get(first, SchedulePage.WEIGHT))
        .isEqualTo(get(second, SchedulePage.WEIGHT))
        .isPositive();
    assertThat(get(first, SchedulePage.HARD)).isZero();
    assertThat(get(second, SchedulePage.SESSIONS)).isEqualTo(1);
  }

  @Test
  void use_ofALease_isItsPartOfWhatItsSessionsHadAlsoOfThoseThatLeft() throws IOException {
    LeaseTime lease = lease(0, 3000);
    lease.enterSession(0);
    lease.enterSession(1);
    put(lease.programSlots(0).getFirst(), SchedulePage.USED, 6 * SECOND);
    put(lease.programSlots(1).getFirst(), SchedulePage.USED, 4 * SECOND);
    put(lease.programSlots(1).getFirst(), SchedulePage.WAITED, SECOND);
    assertThat(lease.use(0).usedNanos()).isEqualTo(3 * SECOND);
    lease.leaveSession(0);
    assertThat(lease.use(0)).isEqualTo(new GpuScheduleTable.Use(3 * SECOND, SECOND, 0));
    lease.enterSession(0);
    assertThat(get(lease.programSlots(0).getFirst(), SchedulePage.USED)).isZero();
    assertThat(lease.use(0).usedNanos()).isEqualTo(3 * SECOND);
    assertThat(lease.charge(10 * SECOND)).isEqualTo(3 * SECOND);
    assertThat(lease.debtNanos(0, SECOND)).isZero();
  }

  @Test
  void leaveSession_thatHasTheTimeSlice_givesItBack() throws IOException {
    LeaseTime lease = lease(0, 3000);
    lease.enterSession(4);
    ScheduleSlot place = lease.programSlots(4).getFirst();
    long slice = (long) place.page() * SchedulePage.BYTES + SchedulePage.TIME_SLICE;
    words.set(JAVA_LONG, slice, 0x1234_00 + place.entry() + 1);
    lease.leaveSession(4);
    assertThat(words.get(JAVA_LONG, slice)).isEqualTo(0x1234_00);
    assertThat(get(place, SchedulePage.WEIGHT)).isZero();
  }

  @Test
  void page_thatAWorkerWritesOver_isRestored() throws IOException {
    LeaseTime lease = lease(0, 3000);
    lease.enterSession(1);
    ScheduleSlot place = lease.programSlots(1).getFirst();
    for (int at = 0; at < SchedulePage.BYTES; at += Long.BYTES) {
      words.set(JAVA_LONG, (long) place.page() * SchedulePage.BYTES + at, -1);
    }
    lease.note(SECOND);
    assertThat(get(place, SchedulePage.WEIGHT)).isEqualTo(Share.WHOLE_COMPUTE);
    assertThat(get(place, SchedulePage.HARD)).isZero();
    assertThat(get(place, SchedulePage.SESSIONS)).isEqualTo(1);
  }

  @Test
  void leases_moreThanThereIsRoomFor_areRefusedUntilOneEnds() throws IOException {
    List<LeaseTime> leases = new ArrayList<>();
    Set<Integer> pages = new TreeSet<>();
    for (int i = 0; i < SchedulePage.MAX_LEASES; i++) {
      leases.add(lease(0, 100));
      pages.add(leases.getLast().programSlots(0).getFirst().page());
    }
    assertThat(pages).hasSize(SchedulePage.MAX_LEASES);
    assertThatThrownBy(() -> lease(0, 100)).hasMessageContaining("GPU 0 has 128 leases");
    assertThat(pages).doesNotContain(lease(1, 100).programSlots(0).getFirst().page());
    leases.getFirst().close();
    assertThat(lease(0, 100).programSlots(0).getFirst().page()).isIn(pages);
  }

  @Test
  void lease_whoseProgramsTakeTimeSlicesWithinItsOwn_hasBothAndTheUseOfItsOwn() throws IOException {
    try (GpuScheduleTable both = new GpuScheduleTable(2, Levels.LEASES_AND_PROGRAMS)) {
      Part part =
          new Part(PlacementTest.gpu("host", 1, 1L << 30), null, new Share(1L << 20, 3000), false);
      LeaseTime lease = new LeaseTime(both, List.of(part), LeaseClass.BATCH, 0);
      lease.enterSession(2);
      assertThat(lease.leaseSlots(2)).containsExactly(new ScheduleSlot(1, 0, 2));
      ScheduleSlot program = lease.programSlots(2).getFirst();
      assertThat(program.page()).isEqualTo(2 + SchedulePage.MAX_LEASES);
      assertThat(program.entry()).isEqualTo(2);
      assertThat(lease.charge(SECOND)).isEqualTo(SECOND);
    }
  }
}
