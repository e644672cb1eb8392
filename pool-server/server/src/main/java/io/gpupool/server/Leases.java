// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.Placement.Outcome;
import io.gpupool.server.Placement.Part;
import io.gpupool.server.limits.LeaseClock;
import io.gpupool.server.state.StateException;
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

/**
 * All leases of this server. A lease is granted when it is written down, and what it had is free
 * when it is forgotten there. Owned by the control thread.
 */
final class Leases {
  /** How long a holder that lost its connection has to come back. */
  static final long GRACE_MILLIS = 1000;

  /** The same after a restart of the server, which takes a while itself. */
  static final long RESTART_GRACE_MILLIS = 10_000;

  private static final long RETRY_MILLIS = 1000;
  private static final int MAX_LEASES = 4096;
  private static final int NAMED_IN_REASON = 3;
  private static final Logger LOG = LoggerFactory.getLogger(Leases.class);

  private final Grants grants;
  private final Capacity capacity;
  private final Timers timers;
  private final TimeTable times;
  private final SecureRandom random = new SecureRandom();
  private final Map<LeaseId, Lease> leases = new LinkedHashMap<>();
  private Runnable freed = () -> {};

  Leases(Grants grants, Capacity capacity, Timers timers, TimeTable times) {
    this.grants = grants;
    this.capacity = capacity;
    this.timers = timers;
    this.times = times;
  }

  /** A lease that has just been granted, and the secret that nobody can tell later. */
  record Granted(Lease lease, LeaseSecret secret) {}

  /** Has {@code action} run whenever fractions have become free. */
  void whenFreed(Runnable action) {
    freed = action;
  }

  /**
   * Takes in the leases that were granted before a restart. Their sessions are dead; their holders
   * have a while to come back.
   */
  void restore() throws IOException {
    for (Map.Entry<LeaseId, GrantRecord> granted : grants.all().entrySet()) {
      GrantRecord record = granted.getValue();
      Optional<List<Part>> parts = grants.parts(record, capacity);
      if (record.ending() || parts.isEmpty()) {
        grants.forget(granted.getKey());
        LOG.info(
            "lease {} is gone: {}",
            granted.getKey(),
            record.ending() ? "it had ended" : "its GPUs are not there any more");
        continue;
      }
      Lease lease = live(granted.getKey(), record, parts.get());
      leases.put(lease.id, lease);
      watch(lease);
      LOG.info("lease {} of {} waits for its holder to come back", lease.id, lease.holder);
      startGrace(
          lease, RESTART_GRACE_MILLIS, "its holder did not come back after the server's restart");
    }
  }

  Optional<Lease> find(String id, String secret) {
    return find(id).filter(lease -> lease.secretHash.matches(secret));
  }

  /** A lease that has not ended. */
  Optional<Lease> find(String id) {
    return Optional.ofNullable(leases.get(new LeaseId(id)))
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
    LOG.debug("lease {}: its holder's connection has ended", lease.id);
    startGrace(lease, GRACE_MILLIS, "its holder is gone");
  }

  private void startGrace(Lease lease, long millis, String reason) {
    lease.state = Lease.State.GRACE;
    lease.graceTimer = Optional.of(timers.after(millis, () -> end(lease, reason)));
  }

  /**
   * Ends a lease as someone asks: kills its sessions; its fractions are free when the last worker
   * is dead.
   *
   * @throws StateException if that cannot be written down; then the lease goes on
   */
  void release(Lease lease, Actor actor, String reason) throws StateException {
    if (lease.state != Lease.State.ENDING) {
      grants.end(lease.id, lease.sessions().isEmpty(), actor, reason);
      finish(lease, reason);
    }
  }

  /** Ends a lease whatever the disk says. */
  void end(Lease lease, String reason) {
    try {
      release(lease, Actor.POOL, reason);
    } catch (StateException e) {
      LOG.error("lease {} ends, which cannot be written down yet: {}", lease.id, e.getMessage());
      finish(lease, reason);
    }
  }

  private void finish(Lease lease, String reason) {
    lease.state = Lease.State.ENDING;
    lease.graceTimer.ifPresent(Timers.Cancellable::cancel);
    lease.limitTimer.ifPresent(Timers.Cancellable::cancel);
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

  /** Ends what was asked for with a token. */
  void endThoseOf(TokenHash token, String reason) {
    for (Lease lease : all()) {
      if (lease.token.equals(Optional.of(token)) && lease.state != Lease.State.ENDING) {
        end(lease, reason);
      }
    }
  }

  private void freeIfEmpty(Lease lease) {
    if (lease.state != Lease.State.ENDING
        || !lease.sessions().isEmpty()
        || !leases.containsKey(lease.id)) {
      return;
    }
    try {
      grants.forget(lease.id);
    } catch (StateException e) {
      LOG.error("lease {} cannot be forgotten yet: {}", lease.id, e.getMessage());
      timers.after(RETRY_MILLIS, () -> freeIfEmpty(lease));
      return;
    }
    leases.remove(lease.id);
    lease.time.close();
    try {
      lease.ledger.close();
    } catch (IOException e) {
      LOG.warn("lease {}: cannot close its ledger", lease.id, e);
    }
    LOG.info("lease {} is gone", lease.id);
    freed.run();
  }

  /**
   * Makes a lease of parts that are free.
   *
   * @throws IOException if the server cannot, for want of files or disk
   * @throws RefusedException if they are not free any more, or the tenant may not
   */
  Granted grant(Request request, List<Part> parts) throws IOException, RefusedException {
    if (leases.size() >= MAX_LEASES) {
      throw new IOException("it has " + MAX_LEASES + " leases");
    }
    LeaseId id = grants.nextId();
    LeaseSecret secret = LeaseSecret.random(random);
    GrantRecord record = grants.record(request, secret.hash(), parts);
    Lease lease = live(id, record, parts);
    try {
      grants.add(id, record, parts, request.actor());
    } catch (StateException | RefusedException | RuntimeException e) {
      lease.time.close();
      lease.ledger.close();
      throw e;
    }
    leases.put(id, lease);
    watch(lease);
    LOG.info("lease {} granted to {}: {}", id, request.holder(), describe(parts));
    return new Granted(lease, secret);
  }

  private Lease live(LeaseId id, GrantRecord record, List<Part> parts) throws IOException {
    LeaseTime time = new LeaseTime(times, parts, timers.nowNanos());
    long grantedAtNanos =
        timers.nowNanos() - 1_000_000 * Math.max(0, timers.wallMillis() - record.grantedAtMillis());
    return new Lease(
        id,
        record.secretHash(),
        record.holder(),
        record.tenant(),
        record.token(),
        parts,
        ledger(id, parts, time),
        time,
        new LeaseClock(record.limits(), grantedAtNanos, timers.nowNanos()),
        grantedAtNanos);
  }

  /** Ends a lease once it has reached a limit. */
  private void watch(Lease lease) {
    lease.limitTimer =
        lease.clock.nextLookMillis(timers.nowNanos()).stream()
            .mapToObj(millis -> timers.after(millis, () -> look(lease)))
            .findFirst();
  }

  private void look(Lease lease) {
    lease.noteWork(timers.nowNanos());
    lease
        .clock
        .over(timers.nowNanos())
        .ifPresentOrElse(reason -> end(lease, reason), () -> watch(lease));
  }

  private static LeaseLedger ledger(LeaseId id, List<Part> parts, LeaseTime time)
      throws IOException {
    try {
      return new LeaseLedger("gpupool-" + id, parts.size());
    } catch (IOException e) {
      time.close();
      throw e;
    }
  }

  /** Why a request finds no room, and what its holder can do; names nobody it must not see. */
  String whyNot(Outcome.Full full, Request request) {
    Gpu gpu = full.best().gpu();
    if (capacity.isDraining(gpu.server())) {
      return "what could serve it is on servers that drain, such as "
          + gpu.label()
          + "; wait for others, or have an admin undo it with 'gpupool server uncordon "
          + gpu.server()
          + "'";
    }
    String best = "largest free fraction is " + full.best().free() + " on " + full.best().label();
    if (request.ask().gpus() > 1) {
      best = full.fitting() + " of these are free now, beyond them the " + best;
    }
    String holders =
        leases.values().stream()
            .filter(lease -> lease.parts.stream().anyMatch(full.best()::holds))
            .limit(NAMED_IN_REASON)
            .map(lease ->
                "lease "
                    + lease.id
                    + " ("
                    + (request.actor().maySee(lease.tenant)
                        ? lease.holder.toString()
                        : "another tenant's")
                    + ", "
                    + on(lease, gpu)
                    + ")")
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
        .map(part ->
            part.share()
                + " of "
                + part.partition().map(name -> "partition '" + name + "' of ").orElse("")
                + part.gpu().label())
        .collect(Collectors.joining(", "));
  }
}
