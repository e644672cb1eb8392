// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import com.google.protobuf.ByteString;
import io.gpupool.control.etcd.KVGrpc;
import io.gpupool.control.etcd.KeyValue;
import io.gpupool.control.etcd.LeaseGrantRequest;
import io.gpupool.control.etcd.LeaseGrpc;
import io.gpupool.control.etcd.LeaseKeepAliveRequest;
import io.gpupool.control.etcd.LeaseRevokeRequest;
import io.gpupool.control.etcd.LeaseRevokeResponse;
import io.gpupool.control.etcd.TxnRequest;
import io.gpupool.control.etcd.TxnResponse;
import io.gpupool.server.state.StateException;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The presence of this server in etcd: an etcd lease that its thread keeps alive, and the key
 * {@code alive/NAME} bound to it. Every commit depends on that key, so a server that etcd has given
 * up can write nothing more, whatever it believes itself. For any thread.
 */
final class Presence {
  private static final long CALL_MILLIS = 1000;
  private static final long GIVEN_UP_EXTRA_SECONDS = 3;
  private static final long PAUSE_MILLIS = 100;
  private static final Logger LOG = LoggerFactory.getLogger(Presence.class);

  private final EtcdClient client;
  private final Keys keys;
  private final String server;
  private final int ttlSeconds;
  private final ProcessIdentity self = ProcessIdentity.ofThisProcess();
  private final Thread thread = new Thread(this::keep, "gpupool-etcd-lease");
  private volatile @Nullable Held held;
  private volatile long aliveUntilNanos;
  private volatile boolean closed;

  /** A lease at etcd and the revision at which {@code alive/NAME} was bound to it. */
  record Held(long leaseId, long aliveRevision) {}

  Presence(EtcdClient client, Keys keys, String server, int ttlSeconds) {
    this.client = client;
    this.keys = keys;
    this.server = server;
    this.ttlSeconds = ttlSeconds;
    thread.setDaemon(true);
  }

  /**
   * Registers this server under an etcd lease. Blocks while etcd cannot be reached or another
   * server of the name may live.
   */
  void start(Duration patience) throws StateException {
    long deadline = System.nanoTime() + patience.toNanos();
    for (; ; ) {
      String why;
      try {
        if (establish()) {
          thread.start();
          return;
        }
        why =
            "a server '"
                + server
                + "' is in this pool already, and lives; give this one another --name";
        // One that is dead is given up by then.
        deadline =
            Math.min(
                deadline,
                System.nanoTime() + TimeUnit.SECONDS.toNanos(ttlSeconds + GIVEN_UP_EXTRA_SECONDS));
      } catch (StatusRuntimeException e) {
        why = client.describe(e) + "; is it running, and --state right?";
      }
      if (System.nanoTime() - deadline > 0) {
        throw new StateException(why);
      }
      pause(PAUSE_MILLIS);
    }
  }

  /** The lease, if it is certain that etcd has not given it up. */
  Held require() throws StateException {
    Optional<String> trouble = trouble();
    Held now = held;
    if (trouble.isPresent() || now == null) {
      throw new StateException(trouble.orElse("this server is just coming back to the pool"));
    }
    return now;
  }

  /** Why nothing can be committed now; ends well before etcd gives up this server. */
  Optional<String> trouble() {
    long leftNanos = aliveUntilNanos - System.nanoTime();
    if (held != null && leftNanos > TimeUnit.SECONDS.toNanos(ttlSeconds) / 4) {
      return Optional.empty();
    }
    return Optional.of(
        "this server has lost its connection to etcd and changes nothing until it is back; another"
            + " server of the pool may do it");
  }

  /** Etcd says that the key is not what it was. */
  void lost(Held before) {
    if (Objects.equals(held, before)) {
      held = null;
      thread.interrupt();
    }
  }

  void close() {
    closed = true;
    thread.interrupt();
    Held last = held;
    if (last != null) {
      revoke(last.leaseId());
    }
    held = null;
  }

  private void keep() {
    boolean told = false;
    while (!closed) {
      try {
        if (held == null ? !establish() : !keepAlive(held)) {
          pause(PAUSE_MILLIS);
          continue;
        }
        if (told) {
          LOG.info("etcd answers again");
        }
        told = false;
        pause(TimeUnit.SECONDS.toMillis(ttlSeconds) / 3);
      } catch (StatusRuntimeException e) {
        if (!told && trouble().isPresent() && !closed) {
          told = true;
          LOG.error("cut off from the pool: {}", client.describe(e));
        }
        pause(PAUSE_MILLIS);
      }
    }
  }

  private boolean keepAlive(Held lease) {
    long sentNanos = System.nanoTime();
    long ttl =
        client
            .call(
                LeaseGrpc.getLeaseKeepAliveMethod(),
                LeaseKeepAliveRequest.newBuilder().setID(lease.leaseId()).build(),
                CALL_MILLIS)
            .getTTL();
    if (ttl <= 0) {
      LOG.warn("the etcd lease of this server expired; it registers again");
      held = null;
      return false;
    }
    aliveUntilNanos = sentNanos + TimeUnit.SECONDS.toNanos(ttl);
    return true;
  }

  /** False while another of this name may live. */
  private boolean establish() {
    long sentNanos = System.nanoTime();
    long leaseId =
        client
            .call(
                LeaseGrpc.getLeaseGrantMethod(),
                LeaseGrantRequest.newBuilder().setTTL(ttlSeconds).build(),
                CALL_MILLIS)
            .getID();
    Optional<Held> bound = bind(leaseId);
    if (bound.isEmpty()) {
      Optional<KeyValue> ended = other().filter(this::isOver);
      if (ended.isPresent()) {
        giveUp(ended.get());
        bound = bind(leaseId);
      }
    }
    if (bound.isEmpty()) {
      revoke(leaseId);
      return false;
    }
    aliveUntilNanos = sentNanos + TimeUnit.SECONDS.toNanos(ttlSeconds);
    held = bound.orElse(null);
    return true;
  }

  private boolean isOver(KeyValue alive) {
    String text = alive.getValue().toStringUtf8();
    return text.equals(self.text()) || ProcessIdentity.hasEnded(text, self);
  }

  /**
   * Gives up a process that has ended, with all that was bound to it: what others decide by that is
   * not to be decided any more once this one has looked at what there is.
   */
  private void giveUp(KeyValue alive) {
    var ignored = revoking(alive.getLease());
  }

  /** Takes the name if nobody has it. */
  private Optional<Held> bind(long leaseId) {
    TxnResponse answer =
        client.call(
            KVGrpc.getTxnMethod(),
            TxnRequest.newBuilder()
                .addCompare(Keys.wasWrittenAt(keys.alive(server), 0))
                .addSuccess(
                    Keys.put(keys.alive(server), ByteString.copyFromUtf8(self.text()), leaseId))
                .build(),
            CALL_MILLIS);
    return answer.getSucceeded()
        ? Optional.of(new Held(leaseId, answer.getHeader().getRevision()))
        : Optional.empty();
  }

  private Optional<KeyValue> other() {
    return client
        .call(KVGrpc.getRangeMethod(), Keys.get(keys.alive(server)).getRequestRange(), CALL_MILLIS)
        .getKvsList()
        .stream()
        .findFirst();
  }

  private void revoke(long leaseId) {
    try {
      var ignored = revoking(leaseId);
    } catch (StatusRuntimeException e) {
      LOG.debug("the lease ends by itself: {}", client.describe(e));
    }
  }

  private LeaseRevokeResponse revoking(long leaseId) {
    return client.call(
        LeaseGrpc.getLeaseRevokeMethod(),
        LeaseRevokeRequest.newBuilder().setID(leaseId).build(),
        CALL_MILLIS);
  }

  private void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      // Something has changed: look at once.
    }
  }
}
