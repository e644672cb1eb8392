// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.move;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.lease.queue.MovePlanner;
import io.gpupool.server.lease.queue.QueuePosition;
import io.gpupool.server.lease.store.MoveStore;
import io.gpupool.server.placement.Defragmentation;
import io.gpupool.server.placement.Defragmentation.LeasePart;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.StateException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The defragmentation of the pool: plans the moves of leases that make room for requests which fit
 * the pool but no GPU of it, and carries them out for those that wait at this server, one at a time
 * and within a budget. Owned by the control thread.
 */
public final class Defragmenter implements MovePlanner {
  /** The time for which a request waits before leases move for it. */
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

  private static final long LOOK_MILLIS = 1000;
  private static final long HOUR_NANOS = TimeUnit.HOURS.toNanos(1);
  private static final Logger LOG = LoggerFactory.getLogger(Defragmenter.class);

  private final LeaseMoves moves;
  private final MoveStore store;
  private final Capacity capacity;
  private final Timers timers;

  /** The times at which moves were begun within the last hour. */
  private final Deque<Long> recentNanos = new ArrayDeque<>();

  /** The leases whose moves have failed. */
  private final Map<LeaseId, MoveAttempts> failed = new HashMap<>();

  private LeaseMoves.@Nullable Begun latest;

  public Defragmenter(LeaseMoves moves, MoveStore store, Capacity capacity, Timers timers) {
    this.moves = moves;
    this.store = store;
    this.capacity = capacity;
    this.timers = timers;
  }

  @Override
  public List<Defragmentation.Move> plan(LeaseSpec spec) {
    List<LeasePart> movable =
        moves.movable().stream().filter(lease -> isDue(lease.lease())).toList();
    return new Defragmentation(capacity.openOffers(), movable, moves::canGoOn)
        .plan(spec.requirements(), spec.tenant());
  }

  private boolean isDue(LeaseId id) {
    MoveAttempts attempts = failed.get(id);
    return attempts == null || attempts.isDue(timers.nowNanos());
  }

  /**
   * Moves leases from now on.
   *
   * @param movesPerHour as many are begun within any hour
   */
  public void start(LeaseQueue queue, int movesPerHour) {
    timers.after(LOOK_MILLIS, () -> look(queue, movesPerHour));
  }

  private void look(LeaseQueue queue, int movesPerHour) {
    start(queue, movesPerHour);
    long nowNanos = timers.nowNanos();
    while (!recentNanos.isEmpty() && nowNanos - recentNanos.getFirst() >= HOUR_NANOS) {
      recentNanos.removeFirst();
    }
    if (!isMoving() && recentNanos.size() < movesPerHour) {
      next(queue).ifPresent(this::begin);
    }
  }

  /** Returns whether the latest move is under way; takes note if it has failed. */
  private boolean isMoving() {
    LeaseMoves.Begun begun = latest;
    if (begun == null) {
      return false;
    }
    Optional<MoveRecord> move = store.get(begun.lease()).filter(of -> of.id().equals(begun.id()));
    if (move.filter(MoveRecord::isUnderWay).isPresent()) {
      return true;
    }
    latest = null;
    if (move.filter(of -> of.phase() == MoveRecord.Phase.FAILED).isPresent()) {
      failed
          .computeIfAbsent(begun.lease(), _ -> new MoveAttempts(""))
          .noteFailure(begun.id(), move.get().result().reason(), timers.nowNanos());
    } else {
      failed.remove(begun.lease());
    }
    return false;
  }

  /** Returns the next move for the first request that has waited long enough. */
  private Optional<RejectionReason.LeaseMove> next(LeaseQueue queue) {
    return queue.here().stream()
        .filter(position -> timers.nowNanos() - position.request().sinceNanos() >= PATIENCE_NANOS)
        .limit(QueuePosition.PLANNED)
        .map(QueuePosition::reason)
        .flatMap(reason ->
            reason instanceof RejectionReason.NoCapacity full
                ? full.moves().stream().limit(1)
                : Stream.empty())
        .findFirst();
  }

  private void begin(RejectionReason.LeaseMove move) {
    try {
      latest =
          moves.begin(move.lease(), new Destination(move.server(), move.ordinal()), Principal.POOL);
      recentNanos.addLast(timers.nowNanos());
      LOG.info(
          "lease {} moves to {}/{} to make room for a request",
          move.lease(),
          move.server(),
          move.ordinal());
    } catch (RefusedException | StateException e) {
      // The next look plans again.
      LOG.debug("lease {} does not move: {}", move.lease(), e.getMessage());
    }
  }
}
