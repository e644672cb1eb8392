// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.gpupool.control.etcd.KVGrpc;
import io.gpupool.control.etcd.KeyValue;
import io.gpupool.control.etcd.RangeRequest;
import io.gpupool.control.state.v1.AllocationRecord;
import io.gpupool.control.state.v1.DivisionRecord;
import io.gpupool.control.state.v1.LeaseMoveRecord;
import io.gpupool.control.state.v1.LeaseRecord;
import io.gpupool.control.state.v1.MovePhaseRecord;
import io.gpupool.server.state.etcd.Etcd;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/** The records of a pool's leases, moves and GPUs, as etcd has them now. For any thread. */
final class MoveBooks implements AutoCloseable {
  private static final long LIMIT_SECONDS = 10;
  private static final int TRIES = 10;

  private final List<ManagedChannel> members = new ArrayList<>();
  private final String prefix;

  MoveBooks(Etcd etcd, String prefix) {
    this.prefix = "/" + prefix + "/data/";
    for (String endpoint : etcd.endpoints().split(",")) {
      members.add(NettyChannelBuilder.forTarget(endpoint).usePlaintext().build());
    }
  }

  /** Returns how far the latest move of a lease has come, if there is one. */
  Optional<LeaseMoveRecord> move(String lease) {
    return Optional.ofNullable(read("moves/").get(lease)).map(MoveBooks::move);
  }

  /** Returns whether a move is to be gone on with, or has something to clear. */
  static boolean isUnderWay(LeaseMoveRecord move) {
    return move.getPhase() == MovePhaseRecord.MOVE_PHASE_RECORD_PREPARING || !move.getCleared();
  }

  /** Returns the names of the servers that are in the pool. */
  Set<String> servers() {
    return read("servers/").keySet();
  }

  /** Fails unless no move is under way, and GPUs have given to each lease exactly what it has. */
  void requireSettled() {
    read("moves/")
        .forEach((lease, record) ->
            assertThat(isUnderWay(move(record))).as("%s moves: %s", lease, move(record)).isFalse());
    TreeSet<String> given = new TreeSet<>();
    read("gpus/")
        .forEach((gpu, record) -> {
          for (AllocationRecord allocation : division(record).getAllocationsList()) {
            given.add(
                allocation.getLease() + " " + gpu + " " + allocation.getShare().getMemoryBytes());
          }
        });
    TreeSet<String> owed = new TreeSet<>();
    read("leases/")
        .forEach((id, record) ->
            lease(record)
                .getPartsList()
                .forEach(part ->
                    owed.add(
                        "%s %s/%s %d"
                            .formatted(
                                id,
                                part.getServer(),
                                part.getCard(),
                                part.getShare().getMemoryBytes()))));
    assertThat(given).as("what GPUs have given to leases").isEqualTo(owed);
  }

  /** Fails if there is a record of a lease, or one that is only there for leases. */
  void requireNothingLeft() {
    for (String kind : List.of("leases/", "moves/", "gpus/", "holds/", "use/", "terminations/")) {
      assertThat(read(kind).keySet()).as(kind).isEmpty();
    }
  }

  private Map<String, ByteString> read(String kind) {
    RangeRequest request =
        RangeRequest.newBuilder()
            .setKey(ByteString.copyFromUtf8(prefix + kind))
            .setRangeEnd(ByteString.copyFromUtf8(prefix + kind.replace('/', '0')))
            .build();
    for (int attempt = 0; ; attempt++) {
      try {
        Map<String, ByteString> found = new TreeMap<>();
        for (KeyValue value :
            KVGrpc.newBlockingStub(members.get(attempt % members.size()))
                .withDeadlineAfter(LIMIT_SECONDS, TimeUnit.SECONDS)
                .range(request)
                .getKvsList()) {
          String key = value.getKey().toStringUtf8();
          found.put(key.substring((prefix + kind).length()), value.getValue());
        }
        return found;
      } catch (StatusRuntimeException e) {
        // It is dead, or without a leader; another member answers.
        if (attempt == TRIES) {
          throw e;
        }
      }
    }
  }

  private static LeaseMoveRecord move(ByteString record) {
    try {
      return LeaseMoveRecord.parseFrom(record);
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }

  private static LeaseRecord lease(ByteString record) {
    try {
      return LeaseRecord.parseFrom(record);
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }

  private static DivisionRecord division(ByteString record) {
    try {
      return DivisionRecord.parseFrom(record);
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    members.forEach(ManagedChannel::shutdownNow);
  }
}
