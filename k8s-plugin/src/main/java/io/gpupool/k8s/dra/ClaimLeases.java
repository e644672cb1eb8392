// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.gpupool.client.connection.StatusText;
import io.gpupool.client.lease.LeaseEventStream;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListLeasesReply;
import io.gpupool.control.v1.Refused;
import io.gpupool.k8s.request.RejectionAdvice;
import io.gpupool.runtime.BackOff;
import io.grpc.Status;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The leases of all claims. Owned by the driver's thread. */
final class ClaimLeases {
  /**
   * The longest pauses between attempts, and between looks at a pod's node, as a multiple of the
   * first.
   */
  private static final int MOST_PAUSE = 64;

  private static final int MOST_LOOK_PAUSE = 4;
  private static final Logger LOG = LoggerFactory.getLogger(ClaimLeases.class);

  /** The pool and cluster as needed to ask for leases. */
  interface Pool {
    /** Returns whether the pool has ever reported what it has. */
    boolean isKnown();

    /** Returns the device of this name as it is now. */
    Optional<PoolDevice> device(String pool, String name);

    /**
     * Returns the node that a pod is bound to; empty while it is bound to none, or if that cannot
     * be learned.
     */
    Optional<String> node(ClaimReading.Pod pod);

    /** Asks for a lease, and holds it until told to let go. */
    Hold ask(
        ClaimReading.Wanted wanted,
        PoolDevice device,
        String node,
        LeaseEventStream.Listener listener);

    void release(String lease, String reason);

    void later(Duration pause, Runnable task);

    /** Tells a pod's owner by an event. */
    void tell(ClaimReading.Pod pod, boolean warning, String reason, String message);
  }

  /** A stream that holds a lease, or waits for one. */
  interface Hold {
    void releaseHold();
  }

  /** The key of a lease: a claim, and the pod that the lease is for. */
  private record Key(String claim, String pod) {
    static Key of(ClaimReading.Wanted wanted) {
      return new Key(wanted.uid(), wanted.pod().uid());
    }
  }

  private final Pool pool;
  private final Map<Key, Entry> entries = new HashMap<>();
  private final EventLimit limit = new EventLimit();
  private final Duration retry;

  /**
   * Begins without leases.
   *
   * @param retry the pause before a lease is asked for again; later ones are longer
   */
  ClaimLeases(Pool pool, Duration retry) {
    this.pool = pool;
    this.retry = retry;
  }

  /** Updates the leases of a claim to the claim as it is now. */
  void look(String claim, ClaimReading reading) {
    switch (reading) {
      case ClaimReading.Nothing nothing -> {
        end(claim, key -> true);
      }
      case ClaimReading.Refused refusal -> {
        end(claim, key -> true);
        refuse(refusal);
      }
      case ClaimReading.Wanted wanted -> {
        end(claim, key -> !key.pod().equals(wanted.pod().uid()));
        if (wanted.other() != null) {
          refuse(wanted.other());
        }
        if (!entries.containsKey(Key.of(wanted))) {
          Entry entry = new Entry(wanted);
          entries.put(Key.of(wanted), entry);
          entry.ask();
        }
      }
    }
  }

  private void refuse(ClaimReading.Refused refusal) {
    warn(refusal.pod(), "ClaimRefused", refusal.reason());
  }

  private void warn(ClaimReading.Pod pod, String reason, String message) {
    if (limit.admits(pod.uid(), reason, message)) {
      pool.tell(pod, true, reason, message);
    }
  }

  private void end(String claim, Predicate<Key> which) {
    for (Key key : new HashSet<>(entries.keySet())) {
      if (key.claim().equals(claim) && which.test(key)) {
        Objects.requireNonNull(entries.remove(key)).end();
      }
    }
  }

  /**
   * Ends leases that no claim has; a controller that ended too soon may have left them.
   *
   * @param holder the user that holds the claims' leases
   * @param isUsed whether the API server still knows a pod that uses the claim
   */
  void sweep(ListLeasesReply leases, String holder, Predicate<LeaseInfo> isUsed) {
    Set<String> wanted = new HashSet<>();
    entries.keySet().forEach(key -> wanted.add(key.pod() + "/" + DraNames.claim(key.claim())));
    for (LeaseInfo lease : leases.getLeasesList()) {
      if (lease.getHolder().getUser().equals(holder)
          && lease.getPod().getContainersCount() == 1
          && lease.getState() != LeaseInfo.State.STATE_ENDING
          && !wanted.contains(lease.getPod().getUid() + "/" + lease.getPod().getContainers(0))
          && !isUsed.test(lease)) {
        LOG.info("lease {} is of no claim any more", lease.getId());
        pool.release(lease.getId(), "its claim is not there any more");
      }
    }
  }

  /** Lets all leases go without ending them. */
  void close() {
    entries.values().forEach(Entry::releaseHold);
    entries.clear();
  }

  /** One lease. */
  private final class Entry implements LeaseEventStream.Listener {
    private final ClaimReading.Wanted wanted;
    private @Nullable Hold hold;
    private @Nullable String lease;
    private boolean over;
    private final BackOff attempts = BackOff.exact(retry, retry.multipliedBy(MOST_PAUSE));
    private final BackOff looks = BackOff.exact(retry, retry.multipliedBy(MOST_LOOK_PAUSE));

    Entry(ClaimReading.Wanted wanted) {
      this.wanted = wanted;
    }

    void ask() {
      if (over) {
        return;
      }
      if (!pool.isKnown()) {
        pool.later(attempts.current(), this::ask);
        return;
      }
      Optional<PoolDevice> device = pool.device(wanted.device().pool(), wanted.device().name());
      if (device.isEmpty()) {
        failed(
            "the pool has no partition for claims on "
                + wanted.device().pool()
                + "/"
                + wanted.device().name()
                + " (any more)");
        return;
      }
      // A claim is allocated a moment before its pod is bound. The pool has to know the node,
      // because a node sees only the leases of its own pods.
      Optional<String> node = pool.node(wanted.pod());
      if (node.isEmpty()) {
        pool.later(looks.next(), this::ask);
        return;
      }
      hold = pool.ask(wanted, device.get(), node.get(), this);
    }

    @Override
    public void granted(Lease granted) {
      lease = granted.getId();
      attempts.reset();
      LOG.info("claim {} has lease {}", wanted.name(), granted.getId());
    }

    @Override
    public void refused(Refused refusal) {
      failed(RejectionAdvice.CLAIM.text(refusal));
    }

    @Override
    public void ended(String reason) {
      failed("the lease has ended: " + reason);
    }

    @Override
    public void broken(Status status) {
      failed(StatusText.of(status));
    }

    private void failed(String reason) {
      if (over) {
        return;
      }
      hold = null;
      boolean lost = lease != null;
      lease = null;
      if (lost) {
        pool.tell(wanted.pod(), true, "LeaseLost", reason);
      } else {
        warn(wanted.pod(), "LeaseRefused", reason);
      }
      pool.later(attempts.next(), this::ask);
    }

    void releaseHold() {
      over = true;
      if (hold != null) {
        hold.releaseHold();
      }
    }

    void end() {
      releaseHold();
      if (lease != null) {
        pool.release(lease, "its claim has ended");
      }
    }
  }
}
