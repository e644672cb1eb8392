// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import com.google.protobuf.ByteString;
import io.gpupool.control.etcd.KVGrpc;
import io.gpupool.control.etcd.KeyValue;
import io.gpupool.control.etcd.ResponseOp;
import io.gpupool.control.etcd.TxnRequest;
import io.gpupool.control.etcd.TxnResponse;
import io.gpupool.server.state.Condition;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Write;
import io.grpc.StatusRuntimeException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A converter of commits into etcd transactions. Used by one thread at a time.
 *
 * <p>Each commit writes its own id to {@code commits/NAME}, on condition of what stood there
 * before. If no answer comes, nobody can say whether the transaction was done or will yet be. A
 * second one then writes something else there on the same condition. Either it succeeds, and the
 * first one can never be done; or it fails, and what stands there tells which transaction wrote it.
 */
final class Committer {
  private static final long TRY_MILLIS = 1000;
  private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(4);

  /** Longer, for it is better to wait than not to know; a new leader is chosen in that time. */
  private static final long RESOLVE_NANOS = TimeUnit.SECONDS.toNanos(8);

  private static final long PAUSE_MILLIS = 50;
  private static final long UNKNOWN = -1;

  private final EtcdClient client;
  private final Keys keys;
  private final Presence presence;
  private final ByteString marker;
  private final ByteString alive;
  private final String run = UUID.randomUUID().toString();
  private long markerRevision = UNKNOWN;
  private long count;
  private @Nullable ByteString open;

  Committer(EtcdClient client, Keys keys, Presence presence, String server) {
    this.client = client;
    this.keys = keys;
    this.presence = presence;
    marker = keys.commits(server);
    alive = keys.alive(server);
  }

  Outcome commit(List<Condition> conditions, List<Write> writes) throws StateException {
    long deadline = System.nanoTime() + LIMIT_NANOS;
    for (; ; ) {
      Presence.Held held = presence.require();
      if (open != null) {
        // What became of the last one is not the caller's any more, but it must not come later.
        Optional<Long> ignored = resolve(open);
      }
      readMarker();
      ByteString id = ByteString.copyFromUtf8(run + "/" + ++count);
      try {
        TxnResponse answer =
            client.call(KVGrpc.getTxnMethod(), request(held, id, conditions, writes), TRY_MILLIS);
        if (answer.getSucceeded()) {
          markerRevision = answer.getHeader().getRevision();
          return new Outcome.Done(markerRevision);
        }
        return failed(answer, held, conditions);
      } catch (StatusRuntimeException e) {
        if (EtcdClient.isRefusal(e.getStatus())) {
          throw new StateException(client.describe(e), e);
        }
        open = id;
        Optional<Long> revision = resolve(id);
        if (revision.isPresent()) {
          return new Outcome.Done(revision.get());
        }
        if (System.nanoTime() > deadline) {
          throw new StateException(client.describe(e) + "; nothing was changed, try again", e);
        }
      }
    }
  }

  /** A commit's end, which is told when the replica has seen it. */
  sealed interface Outcome {
    record Done(long revision) implements Outcome {}

    /** That this holds no more. */
    record Conflict(Condition broken) implements Outcome {}
  }

  private TxnRequest request(
      Presence.Held held, ByteString id, List<Condition> conditions, List<Write> writes) {
    TxnRequest.Builder request =
        TxnRequest.newBuilder()
            .addCompare(Keys.wasWrittenAt(marker, markerRevision))
            .addCompare(Keys.wasWrittenAt(alive, held.aliveRevision()))
            .addSuccess(Keys.put(marker, id, 0))
            .addFailure(Keys.get(marker))
            .addFailure(Keys.get(alive));
    for (Condition condition : conditions) {
      request.addCompare(keys.compare(condition)).addFailure(Keys.get(keys.data(condition.key())));
    }
    writes.forEach(write -> request.addSuccess(keys.write(write, held.leaseId())));
    return request.build();
  }

  private Outcome failed(TxnResponse answer, Presence.Held held, List<Condition> conditions)
      throws StateException {
    if (revision(answer.getResponses(1)) != held.aliveRevision()) {
      presence.lost(held);
      throw new StateException(
          "etcd had given up this server, which comes back to the pool; try again");
    }
    if (revision(answer.getResponses(0)) != markerRevision) {
      markerRevision = UNKNOWN;
      throw new StateException("another server writes under this one's name; give it another");
    }
    for (int i = 0; i < conditions.size(); i++) {
      long now = revision(answer.getResponses(2 + i));
      if (now != conditions.get(i).revision()) {
        return new Outcome.Conflict(conditions.get(i));
      }
    }
    throw new StateException("etcd refused a commit whose conditions hold");
  }

  /** The revision of the commit; empty if it was not done and never will be. */
  private Optional<Long> resolve(ByteString id) throws StateException {
    long deadline = System.nanoTime() + RESOLVE_NANOS;
    ByteString other = ByteString.copyFromUtf8("not ").concat(id);
    while (System.nanoTime() < deadline) {
      try {
        TxnResponse answer =
            client.call(
                KVGrpc.getTxnMethod(),
                TxnRequest.newBuilder()
                    .addCompare(Keys.wasWrittenAt(marker, markerRevision))
                    .addSuccess(Keys.put(marker, other, 0))
                    .addFailure(Keys.get(marker))
                    .build(),
                TRY_MILLIS);
        open = null;
        if (answer.getSucceeded()) {
          markerRevision = answer.getHeader().getRevision();
          return Optional.empty();
        }
        Optional<KeyValue> found =
            answer.getResponses(0).getResponseRange().getKvsList().stream().findFirst();
        markerRevision = found.map(KeyValue::getModRevision).orElse(0L);
        return found.filter(kv -> kv.getValue().equals(id)).map(KeyValue::getModRevision);
      } catch (StatusRuntimeException e) {
        pause();
      }
    }
    throw new StateException(
        "etcd does not answer, so it is not known yet whether the change was made; look again");
  }

  private void readMarker() throws StateException {
    if (markerRevision != UNKNOWN) {
      return;
    }
    try {
      markerRevision =
          client
              .call(KVGrpc.getRangeMethod(), Keys.get(marker).getRequestRange(), TRY_MILLIS)
              .getKvsList()
              .stream()
              .findFirst()
              .map(KeyValue::getModRevision)
              .orElse(0L);
    } catch (StatusRuntimeException e) {
      throw new StateException(client.describe(e), e);
    }
  }

  private static long revision(ResponseOp answer) {
    return answer.getResponseRange().getKvsList().stream()
        .findFirst()
        .map(KeyValue::getModRevision)
        .orElse(0L);
  }

  private static void pause() {
    try {
      Thread.sleep(PAUSE_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
