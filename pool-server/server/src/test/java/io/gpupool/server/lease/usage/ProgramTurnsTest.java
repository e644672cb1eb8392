// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.lease.usage.TimeTable.Levels;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.wire.TurnPage;
import io.gpupool.wire.TurnPlace;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ProgramTurnsTest {
  private static final long SECOND = 1_000_000_000;

  private final TimeTable table = new TimeTable(2, Levels.PROGRAMS);
  private final MemorySegment words;

  ProgramTurnsTest() throws IOException {
    words = TimeTableTest.words(table);
  }

  @AfterEach
  void close() throws IOException {
    table.close();
  }

  private LeaseTime lease(int gpu, int basisPoints) throws IOException {
    Part part =
        new Part(
            PlacementTest.gpu("host", gpu, 1L << 30),
            Optional.empty(),
            new Share(1L << 20, basisPoints),
            false);
    return new LeaseTime(table, List.of(part), LeaseClass.BATCH, 0);
  }

  private long at(TurnPlace place, int word) {
    return (long) place.page() * TurnPage.BYTES + TurnPage.leaseWord(place.number(), word);
  }

  private long get(TurnPlace place, int word) {
    return words.get(JAVA_LONG, at(place, word));
  }

  private void put(TurnPlace place, int word, long value) {
    words.set(JAVA_LONG, at(place, word), value);
  }

  @Test
  void sessions_ofOneLease_takeTurnsAsEqualsOnAPageOfTheirOwn() throws IOException {
    LeaseTime lease = lease(1, 3000);
    LeaseTime other = lease(1, 5000);
    lease.enterSession(0);
    lease.enterSession(2);
    other.enterSession(0);
    TurnPlace first = lease.programPlaces(0).getFirst();
    TurnPlace second = lease.programPlaces(2).getFirst();
    assertThat(second.page()).isEqualTo(first.page());
    assertThat(second.number()).isNotEqualTo(first.number());
    assertThat(other.programPlaces(0).getFirst().page()).isNotEqualTo(first.page());
    assertThat(get(first, TurnPage.WEIGHT)).isEqualTo(get(second, TurnPage.WEIGHT)).isPositive();
    assertThat(get(first, TurnPage.HARD)).isZero();
    assertThat(get(second, TurnPage.SESSIONS)).isEqualTo(1);
  }

  @Test
  void use_ofALease_isItsPartOfWhatItsSessionsHadAlsoOfThoseThatLeft() throws IOException {
    LeaseTime lease = lease(0, 3000);
    lease.enterSession(0);
    lease.enterSession(1);
    put(lease.programPlaces(0).getFirst(), TurnPage.USED, 6 * SECOND);
    put(lease.programPlaces(1).getFirst(), TurnPage.USED, 4 * SECOND);
    put(lease.programPlaces(1).getFirst(), TurnPage.WAITED, SECOND);
    assertThat(lease.use(0).usedNanos()).isEqualTo(3 * SECOND);
    lease.leaveSession(0);
    assertThat(lease.use(0)).isEqualTo(new TimeTable.Use(3 * SECOND, SECOND, 0));
    lease.enterSession(0);
    assertThat(get(lease.programPlaces(0).getFirst(), TurnPage.USED)).isZero();
    assertThat(lease.use(0).usedNanos()).isEqualTo(3 * SECOND);
    assertThat(lease.charge(10 * SECOND)).isEqualTo(3 * SECOND);
    assertThat(lease.debtNanos(0, SECOND)).isZero();
  }

  @Test
  void leaveSession_thatHasTheTurn_givesItBack() throws IOException {
    LeaseTime lease = lease(0, 3000);
    lease.enterSession(4);
    TurnPlace place = lease.programPlaces(4).getFirst();
    long turn = (long) place.page() * TurnPage.BYTES + TurnPage.TURN;
    words.set(JAVA_LONG, turn, 0x1234_00 + place.number() + 1);
    lease.leaveSession(4);
    assertThat(words.get(JAVA_LONG, turn)).isEqualTo(0x1234_00);
    assertThat(get(place, TurnPage.WEIGHT)).isZero();
  }

  @Test
  void page_thatAWorkerWritesOver_isRestored() throws IOException {
    LeaseTime lease = lease(0, 3000);
    lease.enterSession(1);
    TurnPlace place = lease.programPlaces(1).getFirst();
    for (int at = 0; at < TurnPage.BYTES; at += Long.BYTES) {
      words.set(JAVA_LONG, (long) place.page() * TurnPage.BYTES + at, -1);
    }
    lease.note(SECOND);
    assertThat(get(place, TurnPage.WEIGHT)).isEqualTo(Share.WHOLE_COMPUTE);
    assertThat(get(place, TurnPage.HARD)).isZero();
    assertThat(get(place, TurnPage.SESSIONS)).isEqualTo(1);
  }

  @Test
  void leases_moreThanThereIsRoomFor_areRefusedUntilOneEnds() throws IOException {
    List<LeaseTime> leases = new ArrayList<>();
    Set<Integer> pages = new TreeSet<>();
    for (int i = 0; i < TurnPage.MAX_LEASES; i++) {
      leases.add(lease(0, 100));
      pages.add(leases.getLast().programPlaces(0).getFirst().page());
    }
    assertThat(pages).hasSize(TurnPage.MAX_LEASES);
    assertThatThrownBy(() -> lease(0, 100)).hasMessageContaining("GPU 0 has 128 leases");
    assertThat(pages).doesNotContain(lease(1, 100).programPlaces(0).getFirst().page());
    leases.getFirst().close();
    assertThat(lease(0, 100).programPlaces(0).getFirst().page()).isIn(pages);
  }

  @Test
  void lease_whoseProgramsTakeTurnsWithinItsOwn_hasBothAndTheUseOfItsOwn() throws IOException {
    try (TimeTable both = new TimeTable(2, Levels.LEASES_AND_PROGRAMS)) {
      Part part =
          new Part(
              PlacementTest.gpu("host", 1, 1L << 30),
              Optional.empty(),
              new Share(1L << 20, 3000),
              false);
      LeaseTime lease = new LeaseTime(both, List.of(part), LeaseClass.BATCH, 0);
      lease.enterSession(2);
      assertThat(lease.leasePlaces(2)).containsExactly(new TurnPlace(1, 0, 2));
      TurnPlace program = lease.programPlaces(2).getFirst();
      assertThat(program.page()).isEqualTo(2 + TurnPage.MAX_LEASES);
      assertThat(program.number()).isEqualTo(2);
      assertThat(lease.charge(SECOND)).isEqualTo(SECOND);
    }
  }
}
