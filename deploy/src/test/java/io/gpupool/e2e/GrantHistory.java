// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.gpupool.control.etcd.Event;
import io.gpupool.control.etcd.KVGrpc;
import io.gpupool.control.etcd.PutRequest;
import io.gpupool.control.etcd.RequestOp;
import io.gpupool.control.etcd.TxnRequest;
import io.gpupool.control.etcd.WatchCreateRequest;
import io.gpupool.control.etcd.WatchGrpc;
import io.gpupool.control.etcd.WatchRequest;
import io.gpupool.control.etcd.WatchResponse;
import io.gpupool.control.state.v1.AllocationRecord;
import io.gpupool.control.state.v1.DivisionRecord;
import io.gpupool.control.state.v1.LeaseRecord;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** All that was ever written about a pool's grants, from etcd's history, revision by revision. */
final class GrantHistory {
  private static final long LIMIT_SECONDS = 60;

  /**
   * What the history shows.
   *
   * @param leases all that were ever granted
   * @param left those that are granted at its end
   * @param waiting requests that wait at its end
   * @param mostAtOnce leases at a time
   */
  record Found(Set<String> leases, Set<String> left, int waiting, int mostAtOnce) {}

  private final long gpuBytes;
  private final Map<String, DivisionRecord> divisions = new TreeMap<>();
  private final Map<String, LeaseRecord> leases = new TreeMap<>();
  private final Set<String> waiting = new TreeSet<>();
  private final Set<String> ever = new TreeSet<>();
  private int mostAtOnce;

  private GrantHistory(long gpuBytes) {
    this.gpuBytes = gpuBytes;
  }

  /** Goes through all of it, and fails where a GPU was granted beyond what it has. */
  static Found check(ManagedChannel etcd, String prefix, long gpuBytes) throws Exception {
    GrantHistory history = new GrantHistory(gpuBytes);
    List<Event> commit = new ArrayList<>();
    for (Event event : events(etcd, prefix)) {
      if (!commit.isEmpty()
          && commit.getFirst().getKv().getModRevision() != event.getKv().getModRevision()) {
        history.take(commit);
        commit.clear();
      }
      commit.add(event);
    }
    history.take(commit);
    return new Found(
        history.ever, history.leases.keySet(), history.waiting.size(), history.mostAtOnce);
  }

  /** Up to a mark that is set behind them, so that it is known when all have come. */
  private static List<Event> events(ManagedChannel etcd, String prefix) throws Exception {
    ByteString first = ByteString.copyFromUtf8("/" + prefix + "/data/");
    ByteString mark = ByteString.copyFromUtf8("/" + prefix + "/data0");
    ByteString end = ByteString.copyFromUtf8("/" + prefix + "/data1");
    long last =
        ClientCalls.blockingUnaryCall(
                etcd.newCall(
                    KVGrpc.getTxnMethod(),
                    CallOptions.DEFAULT.withDeadlineAfter(LIMIT_SECONDS, TimeUnit.SECONDS)),
                TxnRequest.newBuilder()
                    .addSuccess(
                        RequestOp.newBuilder().setRequestPut(PutRequest.newBuilder().setKey(mark)))
                    .build())
            .getHeader()
            .getRevision();
    BlockingQueue<Object> answers = new LinkedBlockingQueue<>();
    StreamObserver<WatchRequest> watch =
        WatchGrpc.newStub(etcd)
            .watch(
                new StreamObserver<>() {
                  @Override
                  public void onNext(WatchResponse answer) {
                    answers.add(answer);
                  }

                  @Override
                  public void onError(Throwable failure) {
                    answers.add(failure);
                  }

                  @Override
                  public void onCompleted() {}
                });
    watch.onNext(
        WatchRequest.newBuilder()
            .setCreateRequest(
                WatchCreateRequest.newBuilder().setKey(first).setRangeEnd(end).setStartRevision(1))
            .build());
    List<Event> events = new ArrayList<>();
    long seen = 0;
    while (seen < last) {
      Object answer = answers.poll(LIMIT_SECONDS, TimeUnit.SECONDS);
      assertThat(answer).as("what etcd answers").isInstanceOf(WatchResponse.class);
      WatchResponse response = (WatchResponse) answer;
      assertThat(response.getCompactRevision()).as("the history is whole").isZero();
      for (Event event : response.getEventsList()) {
        // Earlier checks have set the mark, too.
        if (event.getKv().getModRevision() < last && !event.getKv().getKey().equals(mark)) {
          events.add(event);
        }
        seen = event.getKv().getModRevision();
      }
    }
    watch.onCompleted();
    return events;
  }

  private void take(List<Event> commit) throws InvalidProtocolBufferException {
    for (Event event : commit) {
      String key = event.getKv().getKey().toStringUtf8();
      String name = key.substring(key.indexOf("/data/") + "/data/".length());
      String id = name.substring(name.indexOf('/') + 1);
      boolean gone = event.getType() == Event.EventType.DELETE;
      switch (name.substring(0, name.indexOf('/'))) {
        case "gpus" -> {
          divisions.remove(id);
          if (!gone) {
            divisions.put(id, DivisionRecord.parseFrom(event.getKv().getValue()));
          }
        }
        case "leases" -> {
          leases.remove(id);
          if (!gone) {
            leases.put(id, LeaseRecord.parseFrom(event.getKv().getValue()));
            ever.add(id);
          }
        }
        case "queue" -> {
          boolean ignored = gone ? waiting.remove(id) : waiting.add(id);
        }
        default -> {
          // Not about grants.
        }
      }
    }
    if (!commit.isEmpty()) {
      mostAtOnce = Math.max(mostAtOnce, leases.size());
      check(commit.getFirst().getKv().getModRevision());
    }
  }

  /** At one revision: no GPU has given more than it has, and every lease has what it was given. */
  private void check(long revision) {
    Set<String> given = new HashSet<>();
    divisions.forEach((gpu, division) -> {
      long bytes = 0;
      long compute = 0;
      for (AllocationRecord allocation : division.getAllocationsList()) {
        bytes += allocation.getShare().getMemoryBytes();
        compute += allocation.getShare().getComputeBasisPoints();
        assertThat(given.add(allocation.getLease() + " " + gpu))
            .as("%s has %s once at revision %d", allocation.getLease(), gpu, revision)
            .isTrue();
      }
      assertThat(bytes).as("memory of %s at %d", gpu, revision).isLessThanOrEqualTo(gpuBytes);
      assertThat(compute).as("compute of %s at %d", gpu, revision).isLessThanOrEqualTo(10_000);
    });
    Set<String> owed = new HashSet<>();
    leases.forEach((id, lease) ->
        lease
            .getPartsList()
            .forEach(part -> owed.add(id + " " + part.getServer() + "/" + part.getCard())));
    assertThat(given).as("at revision %d", revision).isEqualTo(owed);
  }
}
