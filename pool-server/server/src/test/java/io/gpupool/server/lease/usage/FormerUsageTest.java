// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.lease.usage.GpuScheduleTable.Levels;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.transport.Descriptors;
import io.gpupool.wire.SchedulePage;
import io.gpupool.wire.ScheduleSlot;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The usage of leases, from one process of a server to the next. */
class FormerUsageTest {
  private static final long SECOND = 1_000_000_000;
  private static final LeaseId STAYS = new LeaseId("stays");

  private static final List<Part> PARTS =
      List.of(
          new Part(PlacementTest.gpu("host", 1, 1L << 30), null, new Share(1L << 20, 2500), false));

  private static LeaseTime lease(GpuScheduleTable table) throws IOException {
    return new LeaseTime(table, PARTS, LeaseClass.BATCH, 0);
  }

  private static void use(MemorySegment words, ScheduleSlot slot, long nanos) {
    words.set(
        JAVA_LONG,
        (long) slot.page() * SchedulePage.BYTES
            + SchedulePage.leaseWord(slot.entry(), SchedulePage.USED),
        nanos);
  }

  private static ScheduleSlot usedSlot(LeaseTime lease, int session) {
    return lease.programSlots(session).isEmpty()
        ? lease.leaseSlots(session).getFirst()
        : lease.programSlots(session).getFirst();
  }

  @ParameterizedTest
  @EnumSource(Levels.class)
  void restore_oneOfTwoLeases_keepsItsNumbersAndUseAndFreesTheRest(Levels levels) throws Exception {
    GpuScheduleTable before = new GpuScheduleTable(2, levels);
    LeaseTime gone = lease(before);
    LeaseTime stays = lease(before);
    gone.enterSession(0);
    stays.enterSession(0);
    stays.enterSession(3);
    MemorySegment words = GpuScheduleTableTest.words(before);
    stays.leaseSlots(3).forEach(slot -> use(words, slot, 8 * SECOND));
    stays.programSlots(3).forEach(slot -> use(words, slot, 8 * SECOND));
    GpuScheduleTable.Use used = stays.use(0);
    LeaseLedger ledger = new LeaseLedger("test", 1);
    ledger.charge(0, 100, 0);
    ledger.charge(0, 1000, 3);
    LeaseUsage usage = stays.usage(ledger, 3, 10 * SECOND, 50_000);

    FormerUsage former = FormerUsage.known();
    former.add(STAYS, 3, usage, ledger.share().intValue(), before.share().intValue());
    before.close();
    ledger.close();
    FormerLease left = former.lease(STAYS).orElseThrow();
    try (GpuScheduleTable after = GpuScheduleTable.of(2, levels, former);
        LeaseLedger ledgerAfter = LeaseLedger.of("test", 1, left)) {
      LeaseTime again = new LeaseTime(after, PARTS, LeaseClass.BATCH, left, 100 * SECOND, 52_000);
      assertThat(again.usage(ledgerAfter, 3, 100 * SECOND, 52_000).isOf(usage)).isTrue();
      assertThat(again.use(0)).isEqualTo(used);
      assertThat(again.ageNanos(100 * SECOND)).isEqualTo(12 * SECOND);
      assertThat(again.grantedNanos(0, 100 * SECOND)).isEqualTo(3 * SECOND);
      assertThat(ledgerAfter.usedBytes(0)).isEqualTo(1000);
      assertThat(ledgerAfter.usedBytes(0, 0)).as("of the session that is lost").isZero();
      LeaseTime other = lease(after);
      other.enterSession(0);
      assertThat(other.use(0).usedNanos()).isZero();
      assertThat(usedSlot(other, 0)).isNotEqualTo(usedSlot(again, 0));
      assertThat(usedSlot(other, 0)).isEqualTo(usedSlot(gone, 0));
    }
    former.close();
  }

  @ParameterizedTest
  @EnumSource(Levels.class)
  void restore_otherNumberOfGpus_beginsAnew(Levels levels) throws Exception {
    GpuScheduleTable before = new GpuScheduleTable(2, levels);
    LeaseTime stays = lease(before);
    LeaseLedger ledger = new LeaseLedger("test", 1);
    FormerUsage former = FormerUsage.known();
    former.add(
        STAYS,
        0,
        stays.usage(ledger, 0, 0, 0),
        ledger.share().intValue(),
        before.share().intValue());
    try (GpuScheduleTable after = GpuScheduleTable.of(3, levels, former)) {
      assertThatThrownBy(() ->
              new LeaseTime(
                  after, PARTS, LeaseClass.BATCH, former.lease(STAYS).orElseThrow(), 0, 0))
          .isInstanceOf(IOException.class);
    }
    former.close();
    before.close();
    ledger.close();
  }

  @ParameterizedTest
  @EnumSource(Levels.class)
  void add_anotherFileThanTheServers_isRefused(Levels levels) throws Exception {
    try (GpuScheduleTable table = new GpuScheduleTable(2, levels);
        LeaseLedger ledger = new LeaseLedger("test", 1)) {
      LeaseUsage usage = lease(table).usage(ledger, 0, 0, 0);
      FormerUsage former = FormerUsage.known();
      int other = Descriptors.memoryFile("other", 4096);
      assertThatThrownBy(() -> former.add(STAYS, 0, usage, other, table.share().intValue()))
          .hasMessageContaining("another file");
      assertThat(former.lease(STAYS)).isEqualTo(Optional.empty());
    }
  }
}
