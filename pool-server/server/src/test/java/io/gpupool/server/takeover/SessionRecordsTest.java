// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.takeover;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.state.v1.RunningSessionRecord;
import io.gpupool.runtime.ProcessStart;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.identity.FederatedIdentity;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.identity.SessionKeys;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.usage.LeaseUsage;
import io.gpupool.server.lease.usage.MemoryFile;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.wire.ScheduleSlot;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SessionRecordsTest {
  @TempDir Path temporary;
  private RunDirectory run;
  private SessionRecords records;

  @BeforeEach
  void open() throws Exception {
    run = RunDirectory.open(temporary.resolve("run"));
    records = new SessionRecords(run);
  }

  @AfterEach
  void close() {
    run.close();
  }

  static Stream<SessionRecord> sessions() {
    return Stream.of(
        record(Principal.ANYONE, 100_000L),
        record(new Principal("blue", Role.USER, TokenHash.of("t")), null),
        record(
            new Principal(
                "",
                Role.POD,
                null,
                new FederatedIdentity("s", "", List.of("x", "y"), "uid", "node", 123)),
            null));
  }

  private static SessionRecord record(Principal principal, Long user) {
    return new SessionRecord(
        SessionKeys.random(new SecureRandom()),
        new SessionRecord.Place(
            new LeaseId("L7"), List.of(new GpuKey("a", "GPU-1"), new GpuKey("b", "ordinal-0")), 3),
        new HolderName("box", 123, "python", "ann"),
        principal,
        new WorkerRecord(
            new ProcessStart(4711, "815"), "token", user, "worker-0123456789abcdef.sock"),
        new LeaseUsage(
            new MemoryFile(1, 2),
            new MemoryFile(1, 3),
            List.of(new ScheduleSlot(0, 5, 3)),
            List.of(new ScheduleSlot(9, 3, 0)),
            new LeaseUsage.Granted(1000, 2000, List.of(3000L))),
        new SessionRecord.Past(900, List.of(77L)));
  }

  @ParameterizedTest
  @MethodSource("sessions")
  void read_written_isTheSame(SessionRecord record) {
    assertThat(records.write(record)).isTrue();
    assertThat(records.read().lost()).isEmpty();
    assertThat(records.read().sessions())
        .singleElement()
        .usingRecursiveComparison()
        .isEqualTo(record);
    records.delete(record.keys().id(), 4711);
    assertThat(records.read().sessions()).isEmpty();
  }

  @Test
  void write_twoWorkersOfASession_eachHasARecord() {
    SessionRecord source = record(Principal.ANYONE, null);
    WorkerRecord other =
        new WorkerRecord(new ProcessStart(4712, "816"), "t", null, "worker-00000000000000ff.sock");
    SessionRecord target =
        new SessionRecord(
            source.keys(),
            new SessionRecord.Place(
                source.lease(), List.of(new GpuKey("a", "GPU-2")), source.slot()),
            source.client(),
            source.principal(),
            other,
            source.usage(),
            source.past());
    assertThat(records.write(source)).isTrue();
    assertThat(records.write(target)).isTrue();
    assertThat(records.read().sessions())
        .extracting(SessionRecord::worker)
        .containsExactlyInAnyOrder(source.worker(), other);
    records.delete(source.keys().id(), 4711);
    assertThat(records.read().sessions()).extracting(SessionRecord::worker).containsExactly(other);
  }

  @Test
  void write_again_replacesTheRecordAndIsForTheUserAlone() throws Exception {
    SessionRecord record = record(Principal.ANYONE, null);
    assertThat(records.write(record)).isTrue();
    assertThat(records.write(record)).isTrue();
    Path file = run.file("session-" + record.keys().id() + "-4711");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    assertThat(records.read().sessions()).hasSize(1);
  }

  @Test
  void write_noFolder_saysThatThereIsNoRecord() {
    assertThat(SessionRecords.none().write(record(Principal.ANYONE, null))).isFalse();
  }

  @Test
  void read_garbageOrSymbolicLink_isDeleted() throws Exception {
    Path garbage = Files.writeString(run.file("session-00"), "no record at all");
    Path victim = Files.writeString(temporary.resolve("victim"), "keep me");
    Path link = Files.createSymbolicLink(run.file("session-01"), victim);
    Path torn = Files.write(run.file("new-session-02"), new byte[] {8});
    SessionRecords.Left left = records.read();
    assertThat(left.sessions()).isEmpty();
    assertThat(left.lost()).isEmpty();
    assertThat(List.of(garbage, torn)).allSatisfy(file -> assertThat(file).doesNotExist());
    assertThat(Files.isSymbolicLink(link)).isFalse();
    assertThat(victim).hasContent("keep me");
  }

  @Test
  void read_anotherVersion_isLostWithItsWorkerKnown() throws Exception {
    SessionRecord record = record(Principal.ANYONE, null);
    RunningSessionRecord later =
        SessionRecordForm.write(record).toBuilder()
            .setVersion(SessionRecordForm.VERSION + 1)
            .clearSessionId()
            .build();
    Files.write(run.file("session-03"), later.toByteArray());
    assertThat(records.read().lost())
        .singleElement()
        .satisfies(lost -> {
          assertThat(lost.worker()).isEqualTo(record.worker().process());
          assertThat(lost.lease()).isEqualTo(record.lease());
          assertThat(lost.reason()).contains("version");
        });
  }

  @Test
  void read_truncated_isNoSession() throws Exception {
    SessionRecord record = record(Principal.ANYONE, 1L);
    byte[] whole = SessionRecordForm.write(record).toByteArray();
    for (int cut : List.of(1, 2, whole.length / 2, whole.length - 1, whole.length)) {
      Files.write(
          run.file("session-" + record.keys().id() + "-4711"),
          Arrays.copyOf(whole, whole.length - cut));
      assertThat(records.read().sessions()).isEmpty();
    }
  }
}
