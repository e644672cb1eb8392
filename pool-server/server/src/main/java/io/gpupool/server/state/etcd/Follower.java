// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import com.google.protobuf.ByteString;
import io.gpupool.control.etcd.Event;
import io.gpupool.control.etcd.KVGrpc;
import io.gpupool.control.etcd.KeyValue;
import io.gpupool.control.etcd.RangeRequest;
import io.gpupool.control.etcd.RangeResponse;
import io.gpupool.control.etcd.WatchCreateRequest;
import io.gpupool.control.etcd.WatchGrpc;
import io.gpupool.control.etcd.WatchRequest;
import io.gpupool.control.etcd.WatchResponse;
import io.gpupool.server.state.Change;
import io.gpupool.server.state.Entry;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A follower that keeps the replica up to date with etcd. It reads everything once, then watches
 * from that revision on. A broken watch is restarted, at another member, from the replica's
 * revision; if etcd has compacted the changes since then, everything is read again. Watchers are
 * told of changes on its thread.
 */
final class Follower {
  private static final int PAGE = 1000;
  private static final long READ_MILLIS = 3000;
  private static final long PAUSE_MILLIS = 100;
  private static final Logger LOG = LoggerFactory.getLogger(Follower.class);

  private final EtcdClient client;
  private final Keys keys;
  private final Replica replica;
  private final Thread thread = new Thread(this::run, "gpupool-etcd-watch");
  private volatile @Nullable Stream open;
  private volatile boolean closed;

  Follower(EtcdClient client, Keys keys, Replica replica) {
    this.client = client;
    this.keys = keys;
    this.replica = replica;
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  void close() {
    closed = true;
    thread.interrupt();
  }

  /** Leaves the member that is watched now, which seems to tell nothing. */
  void startAgain() {
    Stream now = open;
    if (now != null) {
      now.leave();
    }
  }

  /** Reads everything, at one revision. */
  void readAll() {
    List<Entry> entries = new ArrayList<>();
    long revision = 0;
    ByteString from = keys.all();
    for (boolean more = true; more; ) {
      RangeResponse page =
          client.call(
              KVGrpc.getRangeMethod(),
              RangeRequest.newBuilder()
                  .setKey(from)
                  .setRangeEnd(keys.end())
                  .setLimit(PAGE)
                  .setRevision(revision)
                  .build(),
              READ_MILLIS);
      revision = revision == 0 ? page.getHeader().getRevision() : revision;
      page.getKvsList().forEach(kv -> keys.entry(kv).ifPresent(entries::add));
      more = page.getMore();
      if (more) {
        KeyValue last = page.getKvs(page.getKvsCount() - 1);
        from = last.getKey().concat(ByteString.copyFrom(new byte[1]));
      }
    }
    replica.replace(revision, entries);
  }

  private void run() {
    while (!closed) {
      try {
        watch();
      } catch (StatusRuntimeException e) {
        if (!closed) {
          LOG.warn("watching is interrupted: {}", client.describe(e));
          pause();
        }
      } catch (InterruptedException e) {
        return;
      } catch (RuntimeException e) {
        if (!closed) {
          LOG.error("a change could not be taken in", e);
          pause();
        }
      }
    }
  }

  /** Until it breaks. */
  private void watch() throws InterruptedException {
    ManagedChannel member = client.member();
    Stream stream = new Stream(member);
    open = stream;
    if (closed) {
      return;
    }
    stream.begin(replica.revision() + 1);
    for (; ; ) {
      WatchResponse answer = stream.next();
      if (answer.getCompactRevision() != 0) {
        LOG.info("etcd has compacted what came since revision {}", replica.revision());
        stream.leave();
        readAll();
        return;
      }
      if (answer.getCanceled()) {
        client.leave(member);
        throw Status.UNAVAILABLE.withDescription(answer.getCancelReason()).asRuntimeException();
      }
      apply(answer.getEventsList());
    }
  }

  /** Events of one commit go together. */
  private void apply(List<Event> events) {
    int from = 0;
    for (int to = 1; to <= events.size(); to++) {
      long revision = events.get(from).getKv().getModRevision();
      if (to == events.size() || events.get(to).getKv().getModRevision() != revision) {
        replica.apply(revision, changes(revision, events.subList(from, to)));
        from = to;
      }
    }
  }

  private List<Change> changes(long revision, List<Event> events) {
    List<Change> changes = new ArrayList<>();
    for (Event event : events) {
      keys.name(event.getKv().getKey())
          .ifPresent(name ->
              changes.add(
                  new Change(
                      revision,
                      name,
                      event.getType() == Event.EventType.DELETE
                          ? null
                          : keys.entry(event.getKv()).orElse(null))));
    }
    return changes;
  }

  private void pause() {
    try {
      Thread.sleep(PAUSE_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** One watch at one member. Its answers wait here for the follower's thread. */
  private final class Stream implements ClientResponseObserver<WatchRequest, WatchResponse> {
    private final BlockingQueue<Object> answers = new LinkedBlockingQueue<>();
    private final ManagedChannel member;
    private volatile @Nullable ClientCallStreamObserver<WatchRequest> call;

    Stream(ManagedChannel member) {
      this.member = member;
    }

    void begin(long revision) {
      WatchGrpc.newStub(member)
          .watch(this)
          .onNext(
              WatchRequest.newBuilder()
                  .setCreateRequest(
                      WatchCreateRequest.newBuilder()
                          .setKey(keys.all())
                          .setRangeEnd(keys.end())
                          .setStartRevision(revision))
                  .build());
    }

    WatchResponse next() throws InterruptedException {
      Object answer = answers.take();
      if (answer instanceof WatchResponse response) {
        return response;
      }
      client.leave(member);
      throw (StatusRuntimeException) answer;
    }

    void leave() {
      client.leave(member);
      ClientCallStreamObserver<WatchRequest> begun = call;
      if (begun != null) {
        begun.cancel("starting again", null);
      }
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<WatchRequest> begun) {
      call = begun;
    }

    @Override
    public void onNext(WatchResponse answer) {
      answers.add(answer);
    }

    @Override
    public void onError(Throwable failure) {
      answers.add(Status.fromThrowable(failure).asRuntimeException());
    }

    @Override
    public void onCompleted() {
      answers.add(Status.UNAVAILABLE.withDescription("the watch was ended").asRuntimeException());
    }
  }
}
