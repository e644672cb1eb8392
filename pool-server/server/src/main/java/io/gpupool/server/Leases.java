// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.Placement.Outcome;
import io.gpupool.server.Placement.Part;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** All leases of this server and what is free beside them. Owned by the control thread. */
final class Leases {
  /** How long a holder that lost its connection has to come back. */
  static final long GRACE_MILLIS = 1000;

  private static final int MAX_LEASES = 4096;
  private static final int NAMED_IN_REASON = 3;
  private static final Logger LOG = LoggerFactory.getLogger(Leases.class);

  private final Capacity capacity;
  private final Timers timers;
  private final SecureRandom random = new SecureRandom();
  private final Map<LeaseId, Lease> leases = new LinkedHashMap<>();
  private long lastNumber;
  private Runnable freed = () -> {};

  Leases(Capacity capacity, Timers timers) {
    this.capacity = capacity;
    this.timers = timers;
  }

  /** Has {@code action} run whenever fractions have become free. */
  void whenFreed(Runnable action) {
    freed = action;
  }

  Optional<Lease> find(String id, String secret) {
    return Optional.ofNullable(leases.get(new LeaseId(id)))
        .filter(lease -> lease.secret.matches(secret))
        .filter(lease -> lease.state != Lease.State.ENDING);
  }

  List<Lease> all() {
    return new ArrayList<>(leases.values());
  }

  void hold(Lease lease, LeaseHold hold) {
    lease.holds.add(hold);
    if (lease.state == Lease.State.GRACE) {
      lease.state = Lease.State.HELD;
      lease.graceTimer.ifPresent(Timers.Cancellable::cancel);
      lease.graceTimer = Optional.empty();
      LOG.info("lease {}: its holder is back", lease.id);
    }
  }

  /** A stream that held the lease has ended, without the lease being released. */
  void letGo(Lease lease, LeaseHold hold) {
    if (!lease.holds.remove(hold) || !lease.holds.isEmpty() || lease.state != Lease.State.HELD) {
      return;
    }
    lease.state = Lease.State.GRACE;
    LOG.debug("lease {}: its holder's connection has ended", lease.id);
    lease.graceTimer =
        Optional.of(timers.after(GRACE_MILLIS, () -> end(lease, "its holder is gone")));
  }

  /** Ends a lease: kills its sessions; its fractions are free when the last worker is dead. */
  void end(Lease lease, String reason) {
    if (lease.state == Lease.State.ENDING) {
      return;
    }
    lease.state = Lease.State.ENDING;
    lease.graceTimer.ifPresent(Timers.Cancellable::cancel);
    LOG.info("lease {} ends: {}", lease.id, reason);
    List<LeaseHold> holds = List.copyOf(lease.holds);
    lease.holds.clear();
    holds.forEach(hold -> hold.ended(reason));
    lease.sessions().forEach(session -> session.end("its lease has ended: " + reason));
    freeIfEmpty(lease);
  }

  /** Must be called when a session's worker is dead. */
  void sessionGone(Lease lease, Session session) {
    lease.remove(session);
    freeIfEmpty(lease);
  }

  /** Ends all leases. */
  void drain(String reason) {
    all().forEach(lease -> end(lease, reason));
  }

  private void freeIfEmpty(Lease lease) {
    if (lease.state != Lease.State.ENDING
        || !lease.sessions().isEmpty()
        || !leases.remove(lease.id, lease)) {
      return;
    }
    capacity.giveBack(lease.parts);
    try {
      lease.ledger.close();
    } catch (IOException e) {
      LOG.warn("lease {}: cannot close its ledger", lease.id, e);
    }
    LOG.info("lease {} is gone", lease.id);
    freed.run();
  }

  /** Makes a lease of parts that are free. */
  Lease grant(Request request, List<Part> parts) throws IOException {
    if (leases.size() >= MAX_LEASES) {
      throw new IOException("it has " + MAX_LEASES + " leases");
    }
    LeaseId id = new LeaseId("L" + (lastNumber + 1));
    LeaseLedger ledger = new LeaseLedger("gpupool-" + id, parts.size());
    lastNumber++;
    capacity.take(parts);
    Lease lease =
        new Lease(
            id,
            LeaseSecret.random(random),
            request.holder(),
            request.tenant(),
            parts,
            ledger,
            timers.nowNanos());
    leases.put(id, lease);
    LOG.info("lease {} granted to {}: {}", id, request.holder(), describe(parts));
    return lease;
  }

  /** Why a request finds no room, and what its holder can do. */
  String whyNot(Outcome.Full full, Ask ask) {
    Gpu gpu = full.best().gpu();
    String best = "largest free fraction is " + full.best().free() + " on " + gpu.label();
    if (ask.gpus() > 1) {
      best = full.fitting() + " of these are free now, beyond them the " + best;
    }
    String holders =
        leases.values().stream()
            .filter(lease -> lease.parts.stream().anyMatch(part -> part.gpu().equals(gpu)))
            .limit(NAMED_IN_REASON)
            .map(lease -> "lease " + lease.id + " (" + lease.holder + ", " + on(lease, gpu) + ")")
            .collect(Collectors.joining(" or "));
    return best
        + "; ask for less (-m or -p)"
        + (holders.isEmpty() ? "" : " or wait for " + holders);
  }

  private static Share on(Lease lease, Gpu gpu) {
    return lease.parts.stream()
        .filter(part -> part.gpu().equals(gpu))
        .map(Part::share)
        .reduce(Share.NONE, Share::plus);
  }

  private static String describe(List<Part> parts) {
    return parts.stream()
        .map(part -> part.share() + " of " + part.gpu().label())
        .collect(Collectors.joining(", "));
  }
}
