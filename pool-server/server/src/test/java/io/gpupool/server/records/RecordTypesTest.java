// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import io.gpupool.control.state.v1.DivisionRecord;
import io.gpupool.control.state.v1.LeaseRecord;
import io.gpupool.control.state.v1.PartitionRecord;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.Role;
import io.gpupool.server.identity.Token;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.Allocation;
import io.gpupool.server.placement.Division;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Partition;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.RecordType;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Write;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class RecordTypesTest {
  private final Random random = new Random(11);

  @Test
  void records_ofEveryKind_areReadAsTheyWereWritten() throws Exception {
    for (int i = 0; i < 500; i++) {
      assertRoundTrip(RecordTypes.DIVISIONS, division());
      assertRoundTrip(RecordTypes.GRANTS, grant());
      assertRoundTrip(RecordTypes.MOVES, move());
      assertRoundTrip(RecordTypes.TENANTS, new Tenant(quota(), random.nextLong(1L << 42), text()));
      assertRoundTrip(
          RecordTypes.USAGES,
          new ResourceUsage(random.nextInt(9999), random.nextLong(1L << 50), random.nextInt(99)));
      assertRoundTrip(RecordTypes.TOKENS, token());
      assertRoundTrip(RecordTypes.COUNTERS, random.nextLong(Long.MAX_VALUE));
      assertRoundTrip(
          RecordTypes.AUDIT,
          new AuditEntry(random.nextLong(1L << 42), text(), text(), text(), text()));
      assertRoundTrip(RecordTypes.SERVER_STATUSES, status());
      assertRoundTrip(
          RecordTypes.SERVERS,
          new ServerEntry(
              text(),
              new ServerEndpoint(text(), random.nextInt(65536), random.nextBoolean()),
              text(),
              text(),
              List.of(),
              random.nextLong(1L << 42),
              random.nextBoolean(),
              random.nextBoolean()));
      assertRoundTrip(RecordTypes.SESSION_TERMINATIONS, new SessionTermination(text(), text()));
    }
  }

  private ServerStatus status() {
    return new ServerStatus(
        random.nextLong(1L << 42),
        ServerInfo.newBuilder().setName(text()).setSessions(random.nextInt(9)).build(),
        List.of(LeaseInfo.newBuilder().setId(text()).setSessions(random.nextInt(9)).build()),
        List.of(SessionInfo.newBuilder().setId(text()).setCalls(random.nextInt(99)).build()));
  }

  @Test
  void record_withAFieldOfALaterVersion_isRefusedAndNotForgotten() throws Exception {
    UnknownFieldSet later =
        UnknownFieldSet.newBuilder()
            .addField(99, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
            .build();
    DivisionRecord inside =
        DivisionRecord.newBuilder()
            .addPartitions(PartitionRecord.newBuilder().setName("x").setUnknownFields(later))
            .build();
    for (ByteString bytes :
        List.of(
            DivisionRecord.newBuilder().setUnknownFields(later).build().toByteString(),
            inside.toByteString())) {
      LocalStore store = LocalStore.inMemory();
      store.commit(List.of(), List.of(new Write.Put("gpus/s/c", bytes, false)));
      assertThatThrownBy(() -> new RecordStore(store, RecordTypes.ALL))
          .isInstanceOf(StateException.class)
          .hasMessageContaining("gpus/s/c")
          .hasMessageContaining("later version");
    }
  }

  @Test
  void record_ofAnUnknownKindOrDamaged_isRefused() throws Exception {
    LocalStore unknown = LocalStore.inMemory();
    unknown.commit(List.of(), List.of(new Write.Put("quarks/up", ByteString.EMPTY, false)));
    assertThatThrownBy(() -> new RecordStore(unknown, RecordTypes.ALL))
        .hasMessageContaining("quarks/up");
    LocalStore damaged = LocalStore.inMemory();
    damaged.commit(
        List.of(), List.of(new Write.Put("tokens/x", ByteString.copyFromUtf8("zzz"), false)));
    assertThatThrownBy(() -> new RecordStore(damaged, RecordTypes.ALL))
        .hasMessageContaining("tokens/x")
        .hasMessageContaining("damaged");
  }

  @Test
  void grant_recordedBeforeThereWereResumeWindows_hasNone() throws Exception {
    ByteString written = RecordTypes.GRANTS.encoder().apply(grant());
    ByteString older =
        LeaseRecord.parseFrom(written).toBuilder().clearResumeWindowMillis().build().toByteString();
    assertThat(RecordTypes.GRANTS.decoder().decode(older).limits().resumeWindowMillis()).isZero();
  }

  private static <T> void assertRoundTrip(RecordType<T> kind, T value) throws StateException {
    assertThat(kind.decoder().decode(kind.encoder().apply(value))).isEqualTo(value);
  }

  private Division division() {
    return new Division(
        some(() ->
            new Partition(
                text(),
                share(),
                random.nextBoolean(),
                new HashSet<>(some(this::text)),
                maybe(this::share).orElse(null),
                random.nextBoolean())),
        some(() -> new Allocation(new LeaseId(text()), maybe(this::text).orElse(null), share())));
  }

  private MoveRecord move() {
    return new MoveRecord(
        text(),
        new GpuKey(text(), text()),
        new GrantRecord.PartRecord(
            new GpuKey(text(), text()),
            maybe(this::text).orElse(null),
            share(),
            random.nextBoolean(),
            random.nextInt(9999)),
        random.nextLong(1L << 42),
        maybe(() -> TokenHash.of(text())).orElse(null),
        MoveRecord.Phase.values()[random.nextInt(3)],
        new MoveRecord.Result(
            text(), random.nextLong(1L << 42), random.nextLong(1L << 42), random.nextBoolean()),
        some(this::text));
  }

  private GrantRecord grant() {
    byte[] hash = new byte[32];
    random.nextBytes(hash);
    return new GrantRecord(
        new LeaseSecret.Hash(ByteString.copyFrom(hash)),
        new LeaseOwner(
            new HolderName(text(), random.nextInt(), text(), text()),
            text(),
            maybe(() ->
                    new LeasePod(
                        text(), text(), text(), some(this::text), maybe(this::text).orElse(null)))
                .orElse(null)),
        maybe(() -> TokenHash.of(text())).orElse(null),
        some(() ->
            new GrantRecord.PartRecord(
                new GpuKey(text(), text()),
                maybe(this::text).orElse(null),
                share(),
                random.nextBoolean(),
                random.nextInt(1001))),
        random.nextLong(1L << 42),
        new LeaseLimits(
            5000 + random.nextInt(1 << 20),
            random.nextBoolean() ? 0 : 86_400_000,
            random.nextBoolean() ? 0 : 60_000,
            random.nextBoolean() ? 60_000 : random.nextInt(3_600_001)),
        new GrantRecord.Precedence(
            random.nextBoolean() ? LeaseClass.BATCH : LeaseClass.LATENCY, random.nextInt()),
        maybe(this::text).orElse(null));
  }

  private Quota quota() {
    return new Quota(
        random.nextBoolean() ? null : (long) random.nextInt(1000),
        random.nextBoolean() ? null : random.nextLong(1L << 50),
        random.nextBoolean() ? null : random.nextInt(100),
        random.nextBoolean() ? null : random.nextInt(2001) - 1000);
  }

  private Token token() {
    return new Token(
        text(),
        List.of(Role.READ_ONLY, Role.USER, Role.ADMIN).get(random.nextInt(3)),
        random.nextLong(1L << 42),
        random.nextBoolean() ? null : 1 + random.nextLong(1L << 42),
        text());
  }

  private Share share() {
    return new Share(random.nextLong(1L << 40), random.nextInt(Share.WHOLE_COMPUTE + 1));
  }

  private String text() {
    return "t" + Integer.toString(random.nextInt(1 << 30), 36) + (random.nextBoolean() ? "é" : "");
  }

  private <T> Optional<T> maybe(Supplier<T> value) {
    return random.nextBoolean() ? Optional.empty() : Optional.of(value.get());
  }

  private <T> List<T> some(Supplier<T> value) {
    List<T> list = new ArrayList<>();
    for (int count = random.nextInt(4); count > 0; count--) {
      list.add(value.get());
    }
    return list;
  }
}
