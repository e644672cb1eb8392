// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GangKey;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.tenant.QuotaUsage;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The scheduler of the lease queue: a pure function of the queued requests and of what is free.
 *
 * <p>Priority comes first, then age; but waiting counts as priority does, so that a stream of more
 * important requests starves nobody. A request that does not fit lets others pass, for a while:
 * then the GPUs that could serve it are kept for it, so that small requests cannot starve a large
 * one. The requests of a gang are granted together, at the turn of the first of them.
 */
final class QueueScheduler {
  /** The waiting that a point of priority is worth. */
  static final long POINT_NANOS = TimeUnit.SECONDS.toNanos(6);

  /** How long a request lets others pass. */
  static final long RESERVATION_DELAY_NANOS = TimeUnit.SECONDS.toNanos(60);

  private static final Comparator<QueuedRequest> ORDER =
      Comparator.comparingLong(QueueScheduler::rankNanos).thenComparingLong(QueuedRequest::number);

  private QueueScheduler() {}

  /**
   * The state of the pool on which decisions rest.
   *
   * @param free the free parts of GPUs
   * @param gangs how many leases gangs have
   */
  record Pool(List<Offer> free, QuotaUsage budgets, Map<GangKey, Integer> gangs) {}

  /** What is to become of one that waits. */
  sealed interface Decision {
    QueuedRequest request();

    /** It is its turn. */
    record Grant(QueuedRequest request, List<Part> parts) implements Decision {}

    /**
     * It is the turn of a gang. Stands for the decisions for all of its requests.
     *
     * @param request the one with the lowest number; its server grants all
     */
    record GrantGang(QueuedRequest request, List<Grant> grants) implements Decision {}

    /** There is no room for it. */
    record NoCapacity(QueuedRequest request, Outcome.NoCapacity noCapacity) implements Decision {}

    /** Its gang has, or asks for, fewer leases than its size. */
    record GangIncomplete(QueuedRequest request, String gang, int size, int members)
        implements Decision {}

    /** There is room for {@code fitting} of its gang's leases. */
    record GangNoCapacity(QueuedRequest request, String gang, int leases, int fitting)
        implements Decision {}

    /** There would be room, which is kept for one that has waited long. */
    record Reserved(QueuedRequest request, QueuedRequest first) implements Decision {}

    /**
     * Its tenant holds too much.
     *
     * @param isForever whether it would be too much without all the tenant holds
     */
    record OverQuota(QueuedRequest request, RejectionReason reason, boolean isForever)
        implements Decision {}

    /** It can never be served. */
    record Unsatisfiable(QueuedRequest request, RejectionReason reason) implements Decision {}
  }

  /** Decides for all that wait; the turns come in the order of their places in the queue. */
  static List<Decision> decide(Collection<QueuedRequest> all, Pool pool, long nowNanos) {
    List<QueuedRequest> sorted = all.stream().sorted(ORDER).toList();
    SchedulingPass pass = new SchedulingPass(pool, WaitingGang.of(sorted, pool.gangs()), nowNanos);
    List<Decision> turns = new ArrayList<>();
    sorted.forEach(request -> turns.addAll(pass.decide(request)));
    return turns;
  }

  private static long rankNanos(QueuedRequest request) {
    return request.sinceNanos() - request.spec().priority() * POINT_NANOS;
  }
}
