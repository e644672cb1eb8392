// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.gpupool.control.state.v1.AuditRecord;
import io.gpupool.control.state.v1.CommunicatorRankRecord;
import io.gpupool.control.state.v1.CounterRecord;
import io.gpupool.control.state.v1.DivisionRecord;
import io.gpupool.control.state.v1.DrainRecord;
import io.gpupool.control.state.v1.GpuFaultRecord;
import io.gpupool.control.state.v1.HoldRecord;
import io.gpupool.control.state.v1.KeyRecord;
import io.gpupool.control.state.v1.LeaseMoveRecord;
import io.gpupool.control.state.v1.LeaseRecord;
import io.gpupool.control.state.v1.LeaseSuspensionRecord;
import io.gpupool.control.state.v1.QueuedRequestRecord;
import io.gpupool.control.state.v1.ServerRecord;
import io.gpupool.control.state.v1.ServerStatusRecord;
import io.gpupool.control.state.v1.SessionTerminationRecord;
import io.gpupool.control.state.v1.TenantRecord;
import io.gpupool.control.state.v1.TokenRecord;
import io.gpupool.control.state.v1.UsageRecord;
import io.gpupool.server.identity.Token;
import io.gpupool.server.placement.Division;
import io.gpupool.server.state.RecordType;
import io.gpupool.server.state.StateException;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** The types of the records that a pool keeps. */
public final class RecordTypes {
  /** By GPU. */
  public static final RecordType<Division> DIVISIONS =
      kind("gpus/", LeaseForm::division, DivisionRecord.parser(), LeaseForm::division);

  /** By lease. */
  public static final RecordType<GrantRecord> GRANTS =
      kind("leases/", LeaseForm::grant, LeaseRecord.parser(), LeaseForm::grant);

  /** By lease, for those that were moved or are about to be. */
  public static final RecordType<MoveRecord> MOVES =
      kind("moves/", LeaseForm::move, LeaseMoveRecord.parser(), LeaseForm::move);

  /** By lease, for those that are suspended. */
  public static final RecordType<SuspensionRecord> SUSPENSIONS =
      kind(
          "suspensions/",
          SuspensionForm::suspension,
          LeaseSuspensionRecord.parser(),
          SuspensionForm::suspension);

  /** Secret keys of the pool, by name. */
  public static final RecordType<ByteString> KEYS =
      kind(
          "keys/",
          key -> KeyRecord.newBuilder().setKey(key).build(),
          KeyRecord.parser(),
          KeyRecord::getKey);

  /** By name. */
  public static final RecordType<Tenant> TENANTS =
      kind("tenants/", TenantForm::tenant, TenantRecord.parser(), TenantForm::tenant);

  /** By tenant, for those that hold leases. */
  public static final RecordType<ResourceUsage> USAGES =
      kind("use/", TenantForm::usage, UsageRecord.parser(), TenantForm::usage);

  /** By hash. */
  public static final RecordType<Token> TOKENS =
      kind("tokens/", TenantForm::token, TokenRecord.parser(), TenantForm::token);

  public static final RecordType<Long> COUNTERS =
      kind(
          "counters/",
          next -> CounterRecord.newBuilder().setNext(next).build(),
          CounterRecord.parser(),
          CounterRecord::getNext);

  /** By time and server. */
  public static final RecordType<AuditEntry> AUDIT =
      kind("audit/", TenantForm::audit, AuditRecord.parser(), TenantForm::audit);

  /** By server. */
  public static final RecordType<Drain> DRAINS =
      kind("drains/", ServerForm::drain, DrainRecord.parser(), ServerForm::drain);

  /** By GPU, for those that are not to be relied on. */
  public static final RecordType<GpuFault> GPU_FAULTS =
      kind(
          "faults/",
          fault ->
              GpuFaultRecord.newBuilder()
                  .setProblem(fault.problem())
                  .setSinceMillis(fault.sinceMillis())
                  .build(),
          GpuFaultRecord.parser(),
          record -> new GpuFault(record.getProblem(), record.getSinceMillis()));

  /** By lease: the server to which its holder is connected, unless it is that of its GPUs. */
  public static final RecordType<String> HOLDS =
      kind(
          "holds/",
          server -> HoldRecord.newBuilder().setServer(server).build(),
          HoldRecord.parser(),
          HoldRecord::getServer);

  /** By name. */
  public static final RecordType<ServerEntry> SERVERS =
      kind("servers/", ServerForm::server, ServerRecord.parser(), ServerForm::server);

  /** By the hash of the request's id. */
  public static final RecordType<QueueRecord> QUEUE =
      kind("queue/", QueueForm::queued, QueuedRequestRecord.parser(), QueueForm::queued);

  /** By server. */
  public static final RecordType<ServerStatus> SERVER_STATUSES =
      kind("statuses/", ServerForm::status, ServerStatusRecord.parser(), ServerForm::status);

  /** By session. */
  public static final RecordType<SessionTermination> SESSION_TERMINATIONS =
      kind(
          "terminations/",
          termination ->
              SessionTerminationRecord.newBuilder()
                  .setServer(termination.server())
                  .setReason(termination.reason())
                  .build(),
          SessionTerminationRecord.parser(),
          record -> new SessionTermination(record.getServer(), record.getReason()));

  /** By communicator and rank. */
  public static final RecordType<CommunicatorRank> COMMUNICATOR_RANKS =
      kind(
          "ranks/",
          CommunicatorForm::rank,
          CommunicatorRankRecord.parser(),
          CommunicatorForm::rank);

  public static final List<RecordType<?>> ALL =
      List.of(
          DIVISIONS,
          GRANTS,
          MOVES,
          SUSPENSIONS,
          KEYS,
          TENANTS,
          USAGES,
          TOKENS,
          COUNTERS,
          AUDIT,
          DRAINS,
          HOLDS,
          SERVERS,
          QUEUE,
          SERVER_STATUSES,
          SESSION_TERMINATIONS,
          GPU_FAULTS,
          COMMUNICATOR_RANKS);

  private RecordTypes() {}

  private static <T, M extends Message> RecordType<T> kind(
      String prefix, Function<T, M> write, Parser<M> parser, Function<M, T> read) {
    return new RecordType<>(
        prefix, value -> write.apply(value).toByteString(), bytes -> read(bytes, parser, read));
  }

  private static <T, M extends Message> T read(
      ByteString bytes, Parser<M> parser, Function<M, T> read) throws StateException {
    try {
      M message = parser.parseFrom(bytes);
      requireKnown(message);
      return read.apply(message);
    } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
      throw new StateException("it is damaged (" + e.getMessage() + ")", e);
    }
  }

  /** A field of a later version must not be lost by writing the record again. */
  private static void requireKnown(Message message) throws StateException {
    if (!message.getUnknownFields().asMap().isEmpty()) {
      throw new StateException(
          "it was written by a later version of gpupool; run that one, or restore a backup");
    }
    for (Map.Entry<?, Object> field : message.getAllFields().entrySet()) {
      List<?> values = field.getValue() instanceof List<?> list ? list : List.of(field.getValue());
      for (Object value : values) {
        if (value instanceof Message inner) {
          requireKnown(inner);
        }
      }
    }
  }
}
