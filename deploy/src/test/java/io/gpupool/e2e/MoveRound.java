// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import io.gpupool.control.state.v1.LeaseMoveRecord;
import io.gpupool.control.state.v1.MovePhaseRecord;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.MoveLeaseRequest;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A move of a lease, and the faults that befall it.
 *
 * @param asked the server that is asked for it
 * @param workers those that were there before it
 * @param formerMove id of the lease's latest one before it; empty: there was none
 * @param records of sessions that were at the target before it
 * @param bytesBefore what had come to the target's call-stream port before it
 * @param bytes after which {@link Phase#SENT} is reached
 */
record MoveRound(
    List<MoveFault> faults,
    LeaseInfo lease,
    String source,
    String target,
    int targetGpu,
    String asked,
    Set<Long> workers,
    String formerMove,
    Set<String> records,
    long bytesBefore,
    long bytes) {
  private static final long MOVE_SECONDS = 200;
  private static final long PHASE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** The moments of a move after which a fault befalls it. */
  enum Phase {
    /** Somebody has asked for it. */
    REQUESTED,

    /** The source's server has begun. */
    KEY_MADE,

    /** The target has a worker for a session. */
    TARGET_WORKER_THERE,

    /** So many bytes of the sessions have been sent to the target's server. */
    SENT,

    /** The target has recorded a session that is restored. */
    RESTORED,

    /** The move has been committed, or has failed. */
    DECIDED,

    /** It has been, and the other GPU is free. */
    CLEARED
  }

  /** Asks for the move, and waits until it is over; returns why it has failed, if it has. */
  CompletableFuture<Optional<Status>> move(MoveKillSite site) {
    return CompletableFuture.supplyAsync(() -> {
      try {
        var ignored =
            site.pool(asked)
                .stub()
                .withDeadlineAfter(MOVE_SECONDS, TimeUnit.SECONDS)
                .moveLease(
                    MoveLeaseRequest.newBuilder()
                        .setLeaseId(lease.getId())
                        .setServer(target)
                        .setGpu(targetGpu)
                        .build());
        return Optional.empty();
      } catch (StatusRuntimeException e) {
        return Optional.of(e.getStatus());
      }
    });
  }

  /** Waits until the move has come so far, or is over. */
  void await(MoveKillSite site, Phase phase, Future<?> moved) throws InterruptedException {
    long deadline = System.nanoTime() + PHASE_NANOS;
    while (System.nanoTime() < deadline && !isReached(site, phase, moved)) {
      Thread.sleep(1);
    }
  }

  private boolean isReached(MoveKillSite site, Phase phase, Future<?> moved) {
    return switch (phase) {
      case REQUESTED -> true;
      case KEY_MADE -> moved.isDone() || record(site).filter(MoveRound::isProved).isPresent();
      case TARGET_WORKER_THERE -> moved.isDone() || !newWorkers(site).isEmpty();
      case SENT -> moved.isDone() || site.bytesTo(target) - bytesBefore >= bytes;
      case RESTORED -> moved.isDone() || isRestored(site);
      case DECIDED -> moved.isDone() || record(site).filter(move -> !isPreparing(move)).isPresent();
      case CLEARED -> moved.isDone() && record(site).filter(MoveBooks::isUnderWay).isEmpty();
    };
  }

  /** Returns the record of this move, not of a former one of the lease. */
  private Optional<LeaseMoveRecord> record(MoveKillSite site) {
    return site.books().move(lease.getId()).filter(move -> !move.getId().equals(formerMove));
  }

  private static boolean isPreparing(LeaseMoveRecord move) {
    return move.getPhase() == MovePhaseRecord.MOVE_PHASE_RECORD_PREPARING;
  }

  private static boolean isProved(LeaseMoveRecord move) {
    return !move.getKeyHash().isEmpty();
  }

  private boolean isRestored(MoveKillSite site) {
    return !records.containsAll(site.sessionRecords(target));
  }

  /** Returns in words how far the move has come. */
  String reached(MoveKillSite site, Future<?> moved) {
    Optional<LeaseMoveRecord> move = record(site);
    if (move.isEmpty()) {
      return moved.isDone() ? "refused" : "requested";
    }
    if (!isPreparing(move.get())) {
      return (move.get().getReason().isEmpty() ? "moved" : "failed")
          + (move.get().getCleared() ? ", cleared" : "");
    }
    if (!isProved(move.get())) {
      return "recorded";
    }
    if (newWorkers(site).isEmpty()) {
      return "key made";
    }
    return isRestored(site) ? "restored" : "worker of the target there";
  }

  /** Returns the workers that were not there before the move. */
  Set<Long> newWorkers(MoveKillSite site) {
    Set<Long> now = new HashSet<>(site.workers());
    now.removeAll(workers);
    return now;
  }

  @Override
  public String toString() {
    return "%s, %s from %s to %s/%d, asked of %s"
        .formatted(faults, lease.getId(), source, target, targetGpu, asked);
  }
}
