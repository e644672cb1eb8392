// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PendingReturns;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolChannels;
import io.gpupool.client.connection.PoolConnection;
import io.gpupool.control.v1.Held;
import io.gpupool.control.v1.HoldRequest;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.ReleaseLeaseReply;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.transport.EventLoops;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Leases whose streams break, and requests that are withdrawn, at a server that is told what to
 * say.
 */
@Timeout(60)
class LeaseHoldIT {
  private static final EventLoopGroup LOOPS = EventLoops.create("lease-hold-test", 1);
  private static final int ATTEMPTS = 12;
  private static final LeaseRequest WISH =
      LeaseRequest.newBuilder().setResumeWindowMillis(600_000).build();

  private final Told pool = new Told();
  private final Pauses pauses = new Pauses();
  private Server server;
  private ManagedChannel channel;
  private PoolConnection connection;
  private LeaseCall call;

  @BeforeEach
  void start() throws IOException {
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(pool)
            .build()
            .start();
    channel =
        PoolChannels.open(
            new PoolAddress("127.0.0.1", server.getPort(), false),
            null,
            ClientSecurity.DEFAULT,
            LOOPS);
    connection = new PoolConnection(channel, System::nanoTime);
    call = new LeaseCall(connection, pauses, queued -> {}, false);
  }

  @AfterEach
  void stop() {
    channel.shutdownNow();
    server.shutdownNow();
    pauses.shutdownNow();
  }

  @Test
  void hold_poolAnswersNobody_pausesGrowToTwoSecondsAndBeginAnewOnceHeld() throws Exception {
    CompletableFuture<HeldLease> asking = call.request(WISH);
    pool.grant();
    assertThat(asking.get().lease().getId()).isEqualTo("L1");
    pool.held = attempt -> attempt == ATTEMPTS;
    pool.breakRequest();
    StreamObserver<LeaseEvent> held = pool.awaitHeld();

    assertThat(pauses.millis).hasSize(ATTEMPTS);
    for (int i = 0; i < ATTEMPTS; i++) {
      long longest = Math.min(2000, 100L << i);
      assertThat(pauses.millis.get(i)).as("pause %d", i).isBetween(longest / 2, longest);
    }
    pool.held = attempt -> true;
    held.onError(Status.UNAVAILABLE.asRuntimeException());
    StreamObserver<LeaseEvent> again = pool.awaitHeld();
    assertThat(pauses.millis.get(ATTEMPTS)).isBetween(50L, 100L);
    assertThat(asking.get().ended()).isNotDone();
    again.onCompleted();
  }

  @Test
  void hold_ofALeaseOfAnotherProcess_goesOnForTheWindowOfTheLease() throws Exception {
    pool.held = attempt -> true;
    CompletableFuture<HeldLease> taking = call.hold("L1", "s", Duration.ofSeconds(12));
    StreamObserver<LeaseEvent> held = pool.awaitHeld();
    pool.held = attempt -> false;
    pauses.wait = true;
    long brokenAtNanos = System.nanoTime();
    held.onError(Status.UNAVAILABLE.asRuntimeException());

    assertThat(taking.get().ended().get()).contains("the connection to the pool was lost");
    assertThat(Duration.ofNanos(System.nanoTime() - brokenAtNanos))
        .isGreaterThan(Duration.ofSeconds(12));
  }

  @Test
  void cancel_ofARequestWhoseGrantMayBeOnItsWay_givesItBackByItsId() throws Exception {
    CompletableFuture<HeldLease> asking = call.request(WISH);
    LeaseRequest asked = pool.awaitRequest();
    asking.cancel(false);

    ReleaseLeaseRequest released = pool.released.poll(30, TimeUnit.SECONDS);
    assertThat(released).isNotNull();
    assertThat(released.getLeaseId()).isEmpty();
    assertThat(released.getSecret()).isEqualTo(asked.getRequestId()).hasSize(32);
  }

  @Test
  void cancel_poolAnswersLate_isAwaitedBeforeTheConnectionIsClosed() throws Exception {
    CompletableFuture<HeldLease> asking = call.request(WISH);
    pool.awaitRequest();
    pool.answersLate = true;
    asking.cancel(false);
    CompletableFuture<Void> returned = connection.returns().done();
    StreamObserver<ReleaseLeaseReply> late = pool.late.poll(30, TimeUnit.SECONDS);
    assertThat(returned).isNotDone();

    Told.confirm(late);
    returned.get(PendingReturns.LIMIT_NANOS / 2, TimeUnit.NANOSECONDS);
    assertThat(connection.returns().done()).isDone();
  }

  @Test
  void cancel_ofARequestThatWasGranted_changesNothing() throws Exception {
    CompletableFuture<HeldLease> asking = call.request(WISH);
    pool.grant();
    HeldLease lease = asking.get();
    asking.cancel(false);
    lease.release().get();

    ReleaseLeaseRequest released = pool.released.poll(30, TimeUnit.SECONDS);
    assertThat(released).isNotNull();
    assertThat(released.getLeaseId()).as("the holder's own").isEqualTo("L1");
    assertThat(pool.released).isEmpty();
  }

  @Test
  void release_connectionJustBroken_isTriedUntilThePoolAnswers() throws Exception {
    CompletableFuture<HeldLease> asking = call.request(WISH);
    pool.grant();
    pool.unanswered = 3;
    asking.get().release().get();

    assertThat(pool.released).hasSize(4).allMatch(asked -> asked.getLeaseId().equals("L1"));
  }

  @Test
  void release_connectionBrokenAndNoWindow_isLeftToTheServer() throws Exception {
    CompletableFuture<HeldLease> asking =
        call.request(LeaseRequest.newBuilder().setResumeWindowMillis(0).build());
    pool.grant();
    pool.unanswered = 1;
    asking.get().release().get();

    assertThat(pool.released).hasSize(1);
  }

  /** An event loop that notes for how long it was to wait, and does so only if it must. */
  private static final class Pauses extends ScheduledThreadPoolExecutor {
    final List<Long> millis = new CopyOnWriteArrayList<>();
    private volatile boolean wait;

    Pauses() {
      super(1);
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable action, long delay, TimeUnit unit) {
      millis.add(unit.toMillis(delay));
      return super.schedule(action, wait ? delay : 0, unit);
    }
  }

  /** A pool that grants and holds when it is told to. */
  private static final class Told extends PoolGrpc.PoolImplBase {
    final BlockingQueue<LeaseRequest> requests = new LinkedBlockingQueue<>();
    final BlockingQueue<ReleaseLeaseRequest> released = new LinkedBlockingQueue<>();
    private final BlockingQueue<StreamObserver<LeaseEvent>> heldNow = new LinkedBlockingQueue<>();
    private volatile StreamObserver<LeaseEvent> requesting;
    private volatile java.util.function.IntPredicate held = attempt -> false;
    private volatile int unanswered;
    private volatile boolean answersLate;
    final BlockingQueue<StreamObserver<ReleaseLeaseReply>> late = new LinkedBlockingQueue<>();
    private int attempts;

    LeaseRequest awaitRequest() throws InterruptedException {
      LeaseRequest request = requests.poll(30, TimeUnit.SECONDS);
      assertThat(request).isNotNull();
      return request;
    }

    StreamObserver<LeaseEvent> awaitHeld() throws InterruptedException {
      StreamObserver<LeaseEvent> stream = heldNow.poll(30, TimeUnit.SECONDS);
      assertThat(stream).isNotNull();
      return stream;
    }

    void grant() throws InterruptedException {
      awaitRequest();
      requesting.onNext(
          LeaseEvent.newBuilder()
              .setGranted(Lease.newBuilder().setId("L1").setSecret("s"))
              .build());
    }

    void breakRequest() {
      requesting.onError(Status.UNAVAILABLE.asRuntimeException());
    }

    @Override
    public void requestLease(LeaseRequest request, StreamObserver<LeaseEvent> events) {
      requesting = events;
      requests.add(request);
    }

    @Override
    public StreamObserver<HoldRequest> holdLease(StreamObserver<LeaseEvent> events) {
      return new StreamObserver<>() {
        @Override
        public void onNext(HoldRequest request) {
          if (held.test(++attempts)) {
            events.onNext(LeaseEvent.newBuilder().setHeld(Held.getDefaultInstance()).build());
            heldNow.add(events);
          } else {
            events.onError(Status.UNAVAILABLE.asRuntimeException());
          }
        }

        @Override
        public void onError(Throwable cause) {}

        @Override
        public void onCompleted() {}
      };
    }

    @Override
    public void releaseLease(ReleaseLeaseRequest request, StreamObserver<ReleaseLeaseReply> reply) {
      released.add(request);
      if (unanswered > 0) {
        unanswered--;
        reply.onError(Status.UNAVAILABLE.asRuntimeException());
        return;
      }
      if (answersLate) {
        late.add(reply);
      } else {
        confirm(reply);
      }
    }

    static void confirm(StreamObserver<ReleaseLeaseReply> reply) {
      reply.onNext(ReleaseLeaseReply.getDefaultInstance());
      reply.onCompleted();
    }
  }
}
