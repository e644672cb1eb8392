// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.lease;

import io.gpupool.client.connection.PendingReturns;
import io.gpupool.client.connection.PoolConnection;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.client.connection.StatusText;
import io.gpupool.control.v1.HoldRequest;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.Queued;
import io.gpupool.control.v1.Refused;
import io.gpupool.control.v1.ReleaseLeaseReply;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.runtime.BackOff;
import io.gpupool.runtime.RandomHex;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lease from its request to its end. It is held by the call on which it was granted, and when
 * that breaks, by new ones for as long as the pool waits for its holder. Runs on the client's event
 * loop.
 */
public final class LeaseCall implements HeldLease {
  private static final Duration RETRY = Duration.ofMillis(100);
  private static final Duration LONGEST_PAUSE = Duration.ofMillis(3200);

  /** Shorter than the least time that a server waits for holders after its restart, by far. */
  private static final Duration LONGEST_HOLD_PAUSE = Duration.ofSeconds(2);

  /** The time after which a holder gives up, unless its lease has a longer resume window. */
  private static final long GIVE_UP_NANOS = TimeUnit.SECONDS.toNanos(10);

  /**
   * The time in which a waiting request looks for a server; etcd may have to elect a leader first.
   */
  private static final long RESUME_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** The same time for a request that does not wait: enough for another server to answer. */
  private static final long RESUME_AT_ONCE_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** The age from which a stream counts as served, even if the server has said nothing yet. */
  private static final long SERVED_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final int ID_BYTES = 16;
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final Logger LOG = LoggerFactory.getLogger(LeaseCall.class);

  private final PoolConnection connection;
  private final PoolGrpc.PoolStub stub;
  private final ScheduledExecutorService loop;
  private final Consumer<Queued> onQueued;
  private final boolean severalServers;
  private final CompletableFuture<HeldLease> granted = new CompletableFuture<>();
  private final CompletableFuture<String> ended = new CompletableFuture<>();
  private volatile @Nullable Lease lease;
  private volatile boolean released;
  private volatile @Nullable LeaseEventCall<?> call;
  private LeaseRequest request = LeaseRequest.getDefaultInstance();
  private long askedAtNanos;
  private boolean heard;
  private long brokenAtNanos;
  private long servedFrom;
  private boolean broken;
  private long unknownAtNanos;
  private boolean unknown;
  private boolean sentAway;

  // Requests that were rejected together must not return together, nor at once; nor must holders.
  private final BackOff pauses =
      BackOff.jittered(RETRY, LONGEST_PAUSE, RandomGenerator.getDefault());
  private final BackOff holdPauses =
      BackOff.jittered(RETRY, LONGEST_HOLD_PAUSE, RandomGenerator.getDefault());

  /**
   * Asks for nothing yet.
   *
   * @param loop the event loop of the connection
   * @param severalServers whether another server may answer where one does not
   */
  public LeaseCall(
      PoolConnection connection,
      ScheduledExecutorService loop,
      Consumer<Queued> onQueued,
      boolean severalServers) {
    this.connection = connection;
    this.loop = loop;
    this.onQueued = onQueued;
    this.severalServers = severalServers;
    stub = PoolGrpc.newStub(connection.channel());
  }

  /**
   * Sends the request; cancelling the future withdraws it, and gives back what may have been
   * granted meanwhile.
   */
  public CompletableFuture<HeldLease> request(LeaseRequest asked) {
    request = asked.toBuilder().setRequestId(RandomHex.of(RANDOM, ID_BYTES)).build();
    askedAtNanos = System.nanoTime();
    stub.requestLease(request, newCall());
    granted.whenComplete((result, failure) -> {
      if (granted.isCancelled()) {
        withdraw();
      }
    });
    return granted;
  }

  /**
   * Holds a lease that was granted to another process, which has let go of it.
   *
   * @param secret of the lease
   * @param resumeWindow of the lease
   * @return completes when the lease is held; cancelling it lets go of the lease
   */
  public CompletableFuture<HeldLease> hold(String leaseId, String secret, Duration resumeWindow) {
    lease =
        Lease.newBuilder()
            .setId(leaseId)
            .setSecret(secret)
            .setResumeWindowMillis(resumeWindow.toMillis())
            .build();
    ended.thenAccept(reason ->
        granted.completeExceptionally(
            new PoolRequestException(
                PoolRequestException.Cause.REFUSED, "the lease has ended: " + reason)));
    granted.whenComplete((result, failure) -> {
      if (granted.isCancelled()) {
        releaseHold();
      }
    });
    holdAgain();
    return granted;
  }

  @Override
  public Lease lease() {
    return Objects.requireNonNull(lease, "the lease is not granted yet");
  }

  @Override
  public CompletableFuture<String> ended() {
    return ended;
  }

  @Override
  public CompletableFuture<Void> release() {
    released = true;
    return release(
            ReleaseLeaseRequest.newBuilder()
                .setLeaseId(lease().getId())
                .setSecret(lease().getSecret())
                .build())
        .thenRun(() -> cancel("released"));
  }

  /** The grant may be on its way, and what the server has granted would be kept for the window. */
  private void withdraw() {
    released = true;
    release(ReleaseLeaseRequest.newBuilder().setSecret(request.getRequestId()).build());
    cancel("withdrawn");
  }

  /** Completes when the pool has answered or cannot be reached. */
  private CompletableFuture<Void> release(ReleaseLeaseRequest asked) {
    CompletableFuture<Void> done = connection.returns().add(new CompletableFuture<>());
    release(asked, done, System.nanoTime() + PendingReturns.LIMIT_NANOS);
    return done;
  }

  /**
   * Asks again until the deadline if the connection is broken: a lease with a window would be kept
   * for that long.
   */
  private void release(
      ReleaseLeaseRequest asked, CompletableFuture<Void> done, long deadlineNanos) {
    stub.withDeadlineAfter(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS)
        .releaseLease(
            asked,
            new StreamObserver<>() {
              @Override
              public void onNext(ReleaseLeaseReply reply) {}

              @Override
              public void onError(Throwable failure) {
                LOG.debug("lease {}: release failed: {}", asked.getLeaseId(), failure.getMessage());
                boolean lost = Status.fromThrowable(failure).getCode() == Status.Code.UNAVAILABLE;
                long left = deadlineNanos - System.nanoTime() - RETRY.toNanos();
                if (!lost || left <= 0 || !outlivesConnection()) {
                  done.complete(null);
                  return;
                }
                connection.retryNow();
                loop.schedule(
                    () -> release(asked, done, deadlineNanos),
                    RETRY.toMillis(),
                    TimeUnit.MILLISECONDS);
              }

              @Override
              public void onCompleted() {
                done.complete(null);
              }
            });
  }

  private boolean outlivesConnection() {
    Lease given = lease;
    return request.getResumeWindowMillis() > 0
        || (given == null ? !request.hasResumeWindowMillis() : given.getResumeWindowMillis() > 0);
  }

  @Override
  public void releaseHold() {
    released = true;
    cancel("left to the next holder");
  }

  private void cancel(String why) {
    LeaseEventCall<?> open = call;
    if (open != null) {
      open.cancel(why);
    }
  }

  private <R> LeaseEventCall<R> newCall() {
    LeaseEventCall<R> started =
        new LeaseEventCall<>(new Answers(), () -> servedFrom = System.nanoTime(), status -> {});
    call = started;
    return started;
  }

  private void holdSoon(Status status) {
    Status.Code code = status.getCode();
    if (code == Status.Code.PERMISSION_DENIED || code == Status.Code.UNAUTHENTICATED) {
      // The pool is there, and knows the lease or its holder no more.
      ended.complete("the pool does not let its holder have it any more: " + StatusText.of(status));
      return;
    }
    long nowNanos = System.nanoTime();
    if (!broken) {
      broken = true;
      brokenAtNanos = nowNanos;
      LOG.warn("lease {}: connection to the pool lost: {}", lease().getId(), StatusText.of(status));
    }
    boolean wasUnknown = unknown;
    unknown = code == Status.Code.NOT_FOUND;
    if (unknown && !wasUnknown) {
      unknownAtNanos = nowNanos;
    }
    if (unknown && nowNanos - unknownAtNanos > GIVE_UP_NANOS) {
      ended.complete("the pool does not know it any more");
      return;
    }
    if (nowNanos - brokenAtNanos > Math.max(GIVE_UP_NANOS, resumeWindowNanos())) {
      ended.complete("the connection to the pool was lost");
      return;
    }
    loop.schedule(this::holdAgain, holdPauses.next().toMillis(), TimeUnit.MILLISECONDS);
  }

  private long resumeWindowNanos() {
    return TimeUnit.MILLISECONDS.toNanos(lease().getResumeWindowMillis());
  }

  /** Repeats a request whose server is gone; by its id it keeps its position. */
  private void askAgain(Status status) {
    if (!broken || servedFrom != 0 && System.nanoTime() - servedFrom > SERVED_NANOS) {
      broken = true;
      brokenAtNanos = System.nanoTime();
    }
    servedFrom = 0;
    boolean lost = status.getCode() == Status.Code.UNAVAILABLE;
    if (granted.isDone()
        || !lost
        || !(heard || severalServers)
        || isTooLateToResume(System.nanoTime())) {
      granted.completeExceptionally(status.asRuntimeException());
      return;
    }
    LOG.debug("asking again: {}", StatusText.of(status));
    boolean leave = sentAway && severalServers;
    sentAway = true;
    loop.schedule(
        () -> {
          if (!granted.isDone()) {
            if (leave) {
              connection.leaveServer();
            } else {
              connection.retryNow();
            }
            stub.requestLease(request.toBuilder().setResumed(true).build(), newCall());
          }
        },
        pauses.next().toMillis(),
        TimeUnit.MILLISECONDS);
  }

  /** Returns whether to give up: each server may take seconds to say that it cannot serve. */
  private boolean isTooLateToResume(long nowNanos) {
    return request.getWaitMillis() == 0 && !heard
        ? nowNanos - askedAtNanos > RESUME_AT_ONCE_NANOS
        : nowNanos - brokenAtNanos > RESUME_NANOS;
  }

  private void holdAgain() {
    if (released) {
      return;
    }
    connection.retryNow();
    StreamObserver<HoldRequest> requests = stub.holdLease(newCall());
    requests.onNext(
        HoldRequest.newBuilder()
            .setLeaseId(lease().getId())
            .setSecret(lease().getSecret())
            .build());
  }

  /** The answers of one call. */
  private final class Answers implements LeaseEventStream.Listener {
    @Override
    public void queued(Queued queued) {
      heard = true;
      broken = false;
      sentAway = false;
      pauses.reset();
      onQueued.accept(queued);
    }

    @Override
    public void granted(Lease given) {
      heard = true;
      lease = given;
      if (!granted.complete(LeaseCall.this)) {
        release();
      }
    }

    @Override
    public void held() {
      broken = false;
      unknown = false;
      holdPauses.reset();
      LOG.info("lease {}: held again", lease().getId());
      granted.complete(LeaseCall.this);
    }

    @Override
    public void refused(Refused refusal) {
      granted.completeExceptionally(PoolRequestException.of(refusal));
    }

    @Override
    public void ended(String reason) {
      if (!released) {
        ended.complete(reason);
      }
    }

    @Override
    public void broken(Status status) {
      if (lease == null) {
        askAgain(status);
      } else if (!released && !ended.isDone()) {
        holdSoon(status);
      }
    }
  }
}
