// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.lease;

import io.gpupool.client.PoolClient;
import io.gpupool.client.lease.HeldLease;
import io.gpupool.control.v1.LeaseRequest;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leases of programs that were started without one. A process that asks twice for the same, for its
 * GPUs and for what NVML shows of them, gets one lease, which ends when it needs it no more. Runs
 * on the agent's event loop.
 */
public final class ImplicitLeases {
  private static final Logger LOG = LoggerFactory.getLogger(ImplicitLeases.class);

  private record Key(int pid, PoolClient pool, LeaseRequest request) {}

  private final Map<Key, Shared> shared = new HashMap<>();
  private final LeasePrograms programs;

  private static final class Shared {
    private final CompletableFuture<HeldLease> asking;
    private int users;

    Shared(CompletableFuture<HeldLease> asking) {
      this.asking = asking;
    }

    /** Returns whether it is held, and is this lease. */
    boolean is(AttachRequest.LeaseHandle lease) {
      return asking.isDone()
          && !asking.isCompletedExceptionally()
          && AttachRequest.LeaseHandle.of(asking.join()).equals(lease);
    }
  }

  /** Creates a set without leases; the given programs hear of the ends of their leases. */
  public ImplicitLeases(LeasePrograms programs) {
    this.programs = programs;
  }

  /**
   * Asks the pool, or joins in what the process asked before.
   *
   * @param pid 0: not known, and then nothing is shared
   */
  Reference take(int pid, PoolClient pool, LeaseRequest request) {
    Key key = new Key(pid, pool, request);
    Shared known = pid == 0 ? null : shared.get(key);
    return refer(key, known == null ? add(key, pool.requestLease(request, queued -> {})) : known);
  }

  /**
   * Holds a lease that an agent held before for the same process, which asked for the same.
   *
   * @param pid 0: not known, and then nothing is shared
   */
  Reference takeBack(
      int pid, PoolClient pool, LeaseRequest request, AttachRequest.FormerLease former) {
    Key key = new Key(pid, pool, request);
    Shared known = pid == 0 ? null : shared.get(key);
    AttachRequest.LeaseHandle lease = former.handle();
    if (known != null && known.is(lease)) {
      return refer(key, known);
    }
    return refer(
        key, add(key, pool.holdLease(lease.leaseId(), lease.secret(), former.resumeWindow())));
  }

  private Reference refer(Key key, Shared lease) {
    lease.users++;
    return new Reference(key, lease);
  }

  private Shared add(Key key, CompletableFuture<HeldLease> asking) {
    Shared added = new Shared(asking);
    shared.put(key, added);
    asking.whenComplete((held, failure) -> {
      if (failure != null) {
        forget(key, asking);
      } else {
        held.ended()
            .thenAccept(reason -> {
              LOG.warn("lease {} ended: {}", held.lease().getId(), reason);
              forget(key, asking);
              programs.ended(AttachRequest.LeaseHandle.of(held), reason);
            });
      }
    });
    return added;
  }

  /** Forgets a lease: the next program asks for a new one. */
  private void forget(Key key, CompletableFuture<HeldLease> asking) {
    if (shared.get(key) instanceof Shared known && known.asking == asking) {
      shared.remove(key);
    }
  }

  /** One connection's part in a lease; released once. */
  final class Reference {
    private final Key key;
    private final Shared lease;

    private Reference(Key key, Shared lease) {
      this.key = key;
      this.lease = lease;
    }

    CompletableFuture<HeldLease> lease() {
      // A copy: who leaves must not cancel it for the others.
      return lease.asking.copy();
    }

    /** Returns whether the lease ends with this use. */
    boolean isLast() {
      return lease.users == 1;
    }

    /** Completes when the lease has ended, or at once where others use it. */
    CompletableFuture<Void> release() {
      if (--lease.users > 0) {
        return CompletableFuture.completedFuture(null);
      }
      forget(key, lease.asking);
      lease.asking.cancel(false);
      return lease.asking.thenCompose(HeldLease::release);
    }

    /** Leaves the lease to the next agent that the program finds. */
    void releaseHold() {
      if (--lease.users > 0) {
        return;
      }
      forget(key, lease.asking);
      lease.asking.cancel(false);
      lease.asking.thenAccept(HeldLease::releaseHold);
    }
  }
}
