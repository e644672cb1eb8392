// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.model.LeaseTopology;
import io.gpupool.server.lease.model.LeasedSession;
import io.gpupool.server.lease.usage.LeaseLedger;
import io.gpupool.server.lease.usage.LeaseTime;
import io.gpupool.server.lease.usage.TimeTable;
import io.gpupool.server.limits.LeaseClock;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.refusal.RefusedException;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Transaction;
import io.gpupool.server.tally.Metric;
import io.gpupool.server.tally.ServerMetrics;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * All leases of this server. A lease is granted when it is written down, and what it had is free
 * when it is forgotten there. Owned by the control thread.
 */
public final class Leases {
  /** How long a holder that lost its connection has to come back. */
  public static final long GRACE_MILLIS = 1000;

  /** The same after a restart of the server, which takes a while itself. */
  static final long RESTART_GRACE_MILLIS = 10_000;

  /** How long a server may be gone before its leases are; after etcd has given it up. */
  static final long GONE_GRACE_MILLIS = 60_000;

  private static final long RETRY_MILLIS = 1000;
  private static final int LOOKS = 20;
  private static final long LOOK_MILLIS = 50;
  private static final int MAX_LEASES = 4096;
  private static final Logger LOG = LoggerFactory.getLogger(Leases.class);

  private final Grants grants;
  private final Capacity capacity;
  private final Timers timers;
  private final TimeTable times;
  private final PeerServerMonitor peers;
  private final SecureRandom random = new SecureRandom();
  private final Map<LeaseId, Lease> leases = new LinkedHashMap<>();
  private Map<LeaseId, Long> goneSinceNanos = Map.of();
  private final ServerMetrics tally = new ServerMetrics();

  /** One that is being written down; whoever looks meanwhile may find it written already. */
  private Optional<LeaseId> pendingGrant = Optional.empty();

  private Runnable freed = () -> {};
  private Consumer<Lease> ending = lease -> {};

  public Leases(Grants grants, Capacity capacity, Timers timers, TimeTable times) {
    this.grants = grants;
    this.capacity = capacity;
    this.timers = timers;
    this.times = times;
    peers = grants.partners(capacity.members());
  }

  /** A lease that has just been granted, and the secret that nobody can tell later. */
  public record Granted(Lease lease, LeaseSecret secret) {}

  /** Has {@code action} see each lease for the last time, with what it has used. */
  public void whenEnding(Consumer<Lease> action) {
    ending = action;
  }

  /** Has {@code action} run whenever fractions have become free. */
  void whenFreed(Runnable action) {
    freed = action;
  }

  /**
   * Takes in the leases that were granted before a restart. Their sessions are dead; their holders
   * have a while to come back.
   */
  public void restore() throws IOException {
    for (Map.Entry<LeaseId, GrantRecord> granted : grants.all().entrySet()) {
      GrantRecord record = granted.getValue();
      Optional<List<Part>> parts = grants.parts(record, capacity);
      Optional<String> over = expiryReasonAtRestart(record, parts);
      if (over.isPresent()) {
        boolean ignored = grants.end(granted.getKey(), here(), Principal.POOL, over.get());
        LOG.info("lease {} is gone: {}", granted.getKey(), over.get());
        continue;
      }
      Lease lease = live(granted.getKey(), record, parts.get());
      leases.put(lease.id, lease);
      watch(lease);
      if (isHeldElsewhere(lease)) {
        continue;
      }
      LOG.info("lease {} of {} waits for its holder to come back", lease.id, lease.holder);
      startGrace(
          lease,
          grace(lease, RESTART_GRACE_MILLIS),
          "its holder did not come back after the server's restart");
    }
  }

  private Optional<String> expiryReasonAtRestart(GrantRecord record, Optional<List<Part>> parts) {
    if (record.isEnding()) {
      return Optional.of("it had ended");
    }
    if (!record.parts().stream().allMatch(part -> members().isThis(part.gpu().server()))) {
      // What its programs have at the other servers is worth nothing without what they had here.
      return Optional.of(
          "server " + grants.server() + ", which has some of its GPUs, was started anew");
    }
    return parts.isEmpty() ? Optional.of("its GPUs are not there any more") : Optional.empty();
  }

  /** This server, of which nothing is alive. */
  private Predicate<String> here() {
    return members()::isThis;
  }

  /** What has happened to leases of this server, and to their sessions. */
  public ServerMetrics tally() {
    return tally;
  }

  public Optional<Lease> find(String id, String secret) {
    return find(id).filter(lease -> lease.secretHash.matches(secret));
  }

  /** How somebody shows that he may use a lease. */
  public sealed interface LeaseCredential {
    /** He knows its secret. */
    record BySecret(String lease, String secret) implements LeaseCredential {}

    /**
     * He is the pod whose it is.
     *
     * @param container empty: the pod has one lease only, for whichever container
     */
    record ByPod(String uid, String container) implements LeaseCredential {}
  }

  private Optional<Lease> find(LeaseCredential claim) {
    return switch (claim) {
      case LeaseCredential.BySecret(String lease, String secret) -> find(lease, secret);
      case LeaseCredential.ByPod(String uid, String container) -> {
        List<Lease> found =
            grants.ofPod(uid, container).stream().flatMap(id -> find(id.text()).stream()).toList();
        yield found.size() == 1 ? Optional.of(found.getFirst()) : Optional.empty();
      }
    };
  }

  /** A lease that has not ended. */
  public Optional<Lease> find(String id) {
    LeaseId key = new LeaseId(id);
    return Optional.ofNullable(leases.get(key))
        .or(() -> members().isAlone() ? Optional.empty() : adopt(key))
        .filter(lease -> lease.state != Lease.State.ENDING);
  }

  /** The same of one that another server may have granted a moment ago. */
  public void findWithRetry(LeaseCredential claim, Consumer<Optional<Lease>> then) {
    findWithRetry(claim, LOOKS, then);
  }

  private void findWithRetry(LeaseCredential claim, int looks, Consumer<Optional<Lease>> then) {
    Optional<Lease> lease = find(claim);
    if (lease.isPresent() || looks == 0 || members().isAlone()) {
      then.accept(lease);
    } else {
      timers.after(LOOK_MILLIS, () -> findWithRetry(claim, looks - 1, then));
    }
  }

  /** The lease that was granted to who chose this secret. */
  Optional<Granted> find(LeaseSecret secret) {
    return grants
        .find(secret.hash())
        .flatMap(id -> find(id.text()))
        .map(lease -> new Granted(lease, secret));
  }

  public List<Lease> all() {
    return new ArrayList<>(leases.values());
  }

  public void hold(Lease lease, LeaseHold hold) {
    leases.putIfAbsent(lease.id, lease);
    lease.holds.add(hold);
    holdHere(lease);
    if (lease.state == Lease.State.GRACE) {
      lease.state = Lease.State.HELD;
      lease.graceTimer.ifPresent(Timers.Cancellable::cancel);
      lease.graceTimer = Optional.empty();
      LOG.info("lease {}: its holder is back", lease.id);
    }
  }

  /** A stream that held the lease has ended, without the lease being released. */
  public void releaseHold(Lease lease, LeaseHold hold) {
    if (!lease.holds.remove(hold) || !lease.holds.isEmpty() || lease.state != Lease.State.HELD) {
      return;
    }
    LOG.debug("lease {}: its holder's connection has ended", lease.id);
    if (!lease.extent().isHome() && lease.clock.limits().graceMillis() > 0) {
      sendHome(lease);
      return;
    }
    startGrace(
        lease,
        grace(lease, GRACE_MILLIS),
        lease.clock.limits().graceMillis() > 0
            ? "its holder did not renew it"
            : "its holder is gone");
  }

  /** Has the other servers know that the lease's holder is connected to this one. */
  private void holdHere(Lease lease) {
    if (members().isAlone()
        || grants.heldAt(lease.id, lease.extent().home()).equals(grants.server())) {
      return;
    }
    try {
      grants.holdHere(lease.id, lease.extent().isHome());
    } catch (StateException e) {
      LOG.warn("lease {} cannot be held here yet: {}", lease.id, e.getMessage());
      timers.after(
          RETRY_MILLIS,
          () -> {
            if (lease.state == Lease.State.HELD && !lease.holds.isEmpty()) {
              holdHere(lease);
            }
          });
    }
  }

  /**
   * Leaves a lease whose holder comes now and then to the server of its GPUs, which knows whether
   * programs use it; that sees that the holder was here, and gives it its time from now on.
   */
  private void sendHome(Lease lease) {
    lease.state = Lease.State.GRACE;
    if (!members().lives(lease.extent().home())) {
      startGrace(lease, lease.clock.limits().graceMillis(), "its holder did not renew it");
      return;
    }
    try {
      grants.sendHome(lease.id, lease.extent().home());
      if (lease.isElsewhere()) {
        drop(lease);
      } else {
        lease.state = Lease.State.HELD;
      }
    } catch (StateException e) {
      LOG.debug("lease {} cannot be left to another server yet: {}", lease.id, e.getMessage());
      timers.after(
          RETRY_MILLIS,
          () -> {
            if (lease.state == Lease.State.GRACE && leases.get(lease.id) == lease) {
              sendHome(lease);
            }
          });
    }
  }

  private static long grace(Lease lease, long usualMillis) {
    return Math.max(usualMillis, lease.clock.limits().graceMillis());
  }

  private void startGrace(Lease lease, long millis, String reason) {
    lease.state = Lease.State.GRACE;
    lease.graceTimer =
        Optional.of(
            timers.after(
                millis,
                () -> {
                  if (isInUse(lease)) {
                    return; // The end of the last session starts it anew.
                  }
                  if (!isHeldElsewhere(lease)) {
                    end(lease, reason);
                  } else if (lease.isElsewhere()) {
                    drop(lease);
                  } else {
                    lease.state = Lease.State.HELD;
                  }
                }));
  }

  private Members members() {
    return capacity.members();
  }

  /** Whether its holder is connected to another server that lives. */
  private boolean isHeldElsewhere(Lease lease) {
    if (members().isAlone()) {
      return false;
    }
    String at = grants.heldAt(lease.id, lease.extent().home());
    return !at.equals(grants.server()) && members().lives(at);
  }

  /** Does what follows from what other servers have written. */
  void reconcile() {
    for (Lease lease : all()) {
      if (lease.state != Lease.State.ENDING) {
        reconcile(lease);
      }
    }
    grants.forEach((id, record) -> {
      if (!leases.containsKey(id)
          && (record.isOn(grants.server()) || grants.heldAt(id, "").equals(grants.server()))) {
        Optional<Lease> ignored = adopt(id);
      }
    });
  }

  private void reconcile(Lease lease) {
    Optional<GrantRecord> record = grants.get(lease.id);
    if (record.isEmpty() || record.get().isEnding()) {
      finish(
          lease,
          record
              .flatMap(GrantRecord::ending)
              .filter(reason -> !reason.isEmpty())
              .orElse("it was ended at another server"));
      return;
    }
    change(lease, record.get());
    Optional<String> over = peers.expiryReason(lease);
    if (over.isPresent() && !lease.isElsewhere()) {
      end(lease, over.get());
    } else if (lease.token.isPresent() && !grants.knows(lease.token.get())) {
      end(lease, "its token was revoked");
    } else if (wasAtAnother(lease)) {
      lease.graceTimer.ifPresent(Timers.Cancellable::cancel);
      startGrace(lease, lease.clock.limits().graceMillis(), "its holder did not renew it");
    } else if (lease.holds.isEmpty() && lease.state == Lease.State.HELD) {
      if (lease.isElsewhere() && isHeldElsewhere(lease)) {
        drop(lease);
      } else if (isResponsibleForHolder(lease)) {
        startGrace(
            lease,
            grace(lease, RESTART_GRACE_MILLIS),
            "its holder did not come back to another server");
      }
    } else if (lease.holds.isEmpty() && isHeldElsewhere(lease)) {
      lease.graceTimer.ifPresent(Timers.Cancellable::cancel);
      lease.graceTimer = Optional.empty();
      lease.state = Lease.State.HELD;
    }
  }

  /** Whether its holder is gone, as far as anyone knows, and this server is the one to say so. */
  private boolean isResponsibleForHolder(Lease lease) {
    return !isHeldElsewhere(lease)
        && (lease.extent().isHome()
            || lease.isElsewhere()
            || grants.heldAt(lease.id, "").equals(grants.server()));
  }

  /** Whether its holder, who need not stay connected, has just been at another server. */
  private boolean wasAtAnother(Lease lease) {
    long revision = grants.holdRevision(lease.id);
    if (revision == lease.holdRevision) {
      return false;
    }
    lease.holdRevision = revision;
    return lease.extent().isHome()
        && lease.clock.limits().graceMillis() > 0
        && lease.holds.isEmpty()
        && grants.heldAt(lease.id, "").equals(grants.server());
  }

  /**
   * A lease that another server has granted, or that this one was not told of. It is taken in if it
   * is on this server's GPUs, or to be held here.
   */
  private Optional<Lease> adopt(LeaseId id) {
    Optional<GrantRecord> record =
        grants.get(id).filter(r -> !r.parts().isEmpty() && !pendingGrant.equals(Optional.of(id)));
    Optional<List<Part>> parts = record.flatMap(r -> grants.parts(r, capacity));
    if (parts.isEmpty()) {
      return Optional.empty();
    }
    try {
      if (record.get().isEnding()) {
        if (!leases.containsKey(id)) {
          boolean ignored = grants.end(id, here(), Principal.POOL, "");
        }
        return Optional.empty();
      }
      Lease lease = live(id, record.get(), parts.get());
      if (!lease.isElsewhere() || grants.heldAt(id, "").equals(grants.server())) {
        leases.put(id, lease);
        watch(lease);
        LOG.info("lease {} of {} was granted by another server", id, lease.holder);
        if (isResponsibleForHolder(lease)) {
          startGrace(lease, grace(lease, RESTART_GRACE_MILLIS), "its holder did not come");
        }
      }
      return Optional.of(lease);
    } catch (IOException e) {
      LOG.error("lease {} cannot be taken in yet: {}", id, e.getMessage());
      return Optional.empty();
    }
  }

  /** Has the holders of leases on other servers' GPUs go to another server. */
  void redirectRemoteHolders() {
    all().stream().filter(Lease::isElsewhere).forEach(this::drop);
  }

  private void drop(Lease lease) {
    leases.remove(lease.id, lease);
    List<LeaseHold> holds = List.copyOf(lease.holds);
    lease.holds.clear();
    holds.forEach(LeaseHold::redirected);
    close(lease);
  }

  /** Has a lease go on as is written down of it, if that was changed. */
  void change(Lease lease, GrantRecord record) {
    List<Part> parts = new ArrayList<>();
    for (int i = 0; i < Math.min(lease.parts().size(), record.parts().size()); i++) {
      Part part = lease.parts().get(i);
      GrantRecord.PartRecord written = record.parts().get(i);
      parts.add(new Part(part.gpu(), part.partition(), written.share(), written.hard()));
    }
    if (parts.size() < lease.parts().size()
        || (parts.equals(lease.parts()) && record.leaseClass() == lease.leaseClass())) {
      return;
    }
    lease.change(parts, record.leaseClass(), timers.nowNanos());
    leaseLog(lease)
        .log("lease {} is of class {}: {}", lease.id, lease.leaseClass().text(), describe(parts));
  }

  /** Something of a GPU may be free that was not. */
  void freed() {
    freed.run();
  }

  /** Whose lease it is, on whichever server's GPUs. */
  public Optional<String> tenantOf(String id) {
    return grants.get(new LeaseId(id)).map(GrantRecord::tenant);
  }

  /** How many leases another server's GPUs have. */
  public int countOn(String server) {
    int[] count = new int[1];
    grants.forEach((id, record) -> count[0] += record.isOn(server) ? 1 : 0);
    return count[0];
  }

  /** Leases on other servers' GPUs whose holders are not connected to this one. */
  public List<Lease> ofOthers() {
    List<Lease> others = new ArrayList<>();
    if (!members().isAlone()) {
      grants.forEach((id, record) -> {
        if (!leases.containsKey(id) && !record.isOn(grants.server())) {
          adopt(id).ifPresent(others::add);
        }
      });
    }
    return others;
  }

  /** Whether the pool knows all whose workers live, so that nothing of theirs is granted again. */
  boolean allLeasesKnownToPool() {
    return leases.values().stream()
        .allMatch(lease ->
            lease.isElsewhere()
                || grants.get(lease.id).filter(r -> r.isOn(grants.server())).isPresent());
  }

  /** Ends leases on the GPUs of servers that have been gone for long. */
  void reapLeasesOfDeadServers() {
    Map<LeaseId, Long> since = new HashMap<>();
    grants.forEach((id, record) -> {
      List<String> gone =
          record.parts().stream()
              .map(part -> part.gpu().server())
              .distinct()
              .filter(server -> !members().lives(server))
              .toList();
      if (gone.isEmpty()) {
        return;
      }
      long goneAt = goneSinceNanos.getOrDefault(id, timers.nowNanos());
      since.put(id, goneAt);
      if (record.isEnding() || timers.nowNanos() - goneAt >= GONE_GRACE_MILLIS * 1_000_000) {
        try {
          for (String server : gone) {
            grants.endOfGone(id, server);
            LOG.info("lease {} ends: server {} is gone", id, server);
          }
        } catch (StateException e) {
          LOG.warn("lease {} of a server that is gone stays: {}", id, e.getMessage());
        }
      }
    });
    goneSinceNanos = since;
  }

  /** Whether programs keep a lease whose holder need not stay connected. */
  private static boolean isInUse(Lease lease) {
    return lease.clock.limits().graceMillis() > 0 && !lease.sessions().isEmpty();
  }

  /**
   * Ends a lease as someone asks: kills its sessions; its fractions are free when the last worker
   * is dead.
   *
   * @throws StateException if that cannot be written down; then the lease goes on
   */
  public void release(Lease lease, Principal principal, String reason) throws StateException {
    if (lease.state != Lease.State.ENDING) {
      Predicate<String> dead = lease.sessions().isEmpty() ? here() : server -> false;
      if (grants.end(lease.id, dead, principal, reason)) {
        tally.add(Metric.LEASES_ENDED, 1, lease.tenant, cause(lease, principal));
      }
      finish(lease, reason);
    }
  }

  /** Ends a lease whatever the disk says. */
  public void end(Lease lease, String reason) {
    try {
      release(lease, Principal.POOL, reason);
    } catch (StateException e) {
      LOG.error("lease {} ends, which cannot be written down yet: {}", lease.id, e.getMessage());
      tally.add(Metric.LEASES_ENDED, 1, lease.tenant, cause(lease, Principal.POOL));
      finish(lease, reason);
    }
  }

  /** A line of the log that has the lease and its tenant as fields, too. */
  private static LoggingEventBuilder leaseLog(Lease lease) {
    return LOG.atInfo().addKeyValue("lease", lease.id.text()).addKeyValue("tenant", lease.tenant);
  }

  private static String cause(Lease lease, Principal principal) {
    if (!principal.equals(Principal.POOL)) {
      return "released";
    }
    return lease.state == Lease.State.GRACE ? "holder_gone" : "pool";
  }

  private void finish(Lease lease, String reason) {
    lease.state = Lease.State.ENDING;
    lease.endReason = reason;
    lease.graceTimer.ifPresent(Timers.Cancellable::cancel);
    lease.limitTimer.ifPresent(Timers.Cancellable::cancel);
    leaseLog(lease).log("lease {} ends: {}", lease.id, reason);
    List<LeaseHold> holds = List.copyOf(lease.holds);
    lease.holds.clear();
    holds.forEach(hold -> hold.ended(reason));
    lease.sessions().forEach(session -> session.end("its lease has ended: " + reason));
    freeIfEmpty(lease);
  }

  /** Must be called when a session's worker is dead. */
  public void sessionGone(Lease lease, LeasedSession session) {
    lease.remove(session);
    if (lease.state == Lease.State.GRACE && lease.clock.limits().graceMillis() > 0) {
      lease.graceTimer.ifPresent(Timers.Cancellable::cancel);
      startGrace(lease, lease.clock.limits().graceMillis(), "its holder did not renew it");
    }
    freeIfEmpty(lease);
  }

  /** Ends all leases on this server's GPUs; the holders of others go to another server. */
  void drain(String reason) {
    for (Lease lease : all()) {
      if (lease.isElsewhere()) {
        drop(lease);
      } else {
        end(lease, lease.extent().spans() ? reason + " (" + grants.server() + ")" : reason);
      }
    }
  }

  /** Ends what was asked for with a token. */
  public void endLeasesOf(TokenHash token, String reason) {
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
    if (lease.isElsewhere()) {
      drop(lease);
      return;
    }
    try {
      boolean ignored = grants.end(lease.id, here(), Principal.POOL, lease.endReason);
    } catch (StateException e) {
      LOG.error("lease {} cannot be forgotten yet: {}", lease.id, e.getMessage());
      timers.after(RETRY_MILLIS, () -> freeIfEmpty(lease));
      return;
    }
    leases.remove(lease.id);
    tally(tally, lease, timers.nowNanos());
    close(lease);
    leaseLog(lease).log("lease {} is gone", lease.id);
    freed.run();
  }

  private void close(Lease lease) {
    ending.accept(lease);
    lease.time.close();
    try {
      lease.ledger.close();
    } catch (IOException e) {
      LOG.warn("lease {}: cannot close its ledger", lease.id, e);
    }
  }

  /** Counts the time that a lease had of its GPUs. */
  public static void tally(ServerMetrics tally, Lease lease, long nowNanos) {
    for (int i = 0; i < lease.extent().own().size(); i++) {
      Gpu gpu = lease.extent().own().get(i).gpu();
      String[] labels = {lease.tenant, gpu.server(), Integer.toString(gpu.ordinal())};
      TimeTable.Use use = lease.time.use(i);
      tally.add(Metric.GRANTED_NANOS, lease.time.grantedNanos(i, nowNanos), labels);
      tally.add(Metric.GPU_NANOS, use.usedNanos(), labels);
      tally.add(Metric.WAITED_NANOS, use.waitedNanos(), labels);
      tally.add(Metric.THROTTLED_NANOS, use.throttledNanos(), labels);
    }
  }

  /**
   * Makes a lease of parts that are free.
   *
   * @throws IOException if the server cannot, for want of files or disk
   * @throws RefusedException if they are not free any more, or the tenant may not
   */
  public Granted grant(LeaseSpec request, List<Part> parts) throws IOException, RefusedException {
    return grant(request, parts, LeaseSecret.random(random), transaction -> {});
  }

  /** The same with a secret of the caller's choice. */
  Granted grant(LeaseSpec request, List<Part> parts, LeaseSecret secret, Grants.Beside beside)
      throws IOException, RefusedException {
    if (leases.size() >= MAX_LEASES) {
      throw new IOException("it has " + MAX_LEASES + " leases");
    }
    LeaseId id = grants.nextId();
    GrantRecord record = grants.record(request, secret.hash(), parts);
    Lease lease = live(id, record, parts);
    pendingGrant = Optional.of(id);
    try {
      grants.add(
          id,
          record,
          parts,
          request.actor(),
          transaction -> {
            beside.write(transaction);
            dependOnServers(transaction, id, parts);
          });
    } catch (StateException | RefusedException | RuntimeException e) {
      lease.time.close();
      lease.ledger.close();
      throw e;
    } finally {
      pendingGrant = Optional.empty();
    }
    leases.put(id, lease);
    watch(lease);
    tally.add(Metric.LEASES_GRANTED, 1, lease.tenant);
    leaseLog(lease).log("lease {} granted to {}: {}", id, request.holder(), describe(parts));
    return new Granted(lease, secret);
  }

  /** Another server's GPUs are granted only while it lives. */
  private void dependOnServers(Transaction transaction, LeaseId id, List<Part> parts)
      throws RefusedException {
    for (Part part : parts) {
      String server = part.gpu().server();
      if (members().isThis(server)) {
        continue;
      }
      if (transaction.get(RecordTypes.SERVERS, server).isEmpty()) {
        throw new RefusedException(
            RefusedException.Why.CHANGED, "server " + server + " has left the pool meanwhile");
      }
    }
    if (!members().isThis(parts.getFirst().gpu().server())) {
      transaction.put(RecordTypes.HOLDS, id.text(), grants.server());
    }
  }

  private Lease live(LeaseId id, GrantRecord record, List<Part> parts) throws IOException {
    LeaseTopology extent = LeaseTopology.of(parts, members());
    boolean elsewhere = extent.isElsewhere();
    LeaseTime time =
        elsewhere
            ? LeaseTime.elsewhere(times)
            : new LeaseTime(times, extent.own(), record.leaseClass(), timers.nowNanos());
    LeaseLedger ledger = elsewhere ? LeaseLedger.elsewhere() : ledger(id, extent.own(), time);
    Lease lease = make(id, record, extent, time, ledger);
    lease.holdRevision = grants.holdRevision(id);
    return lease;
  }

  private Lease make(
      LeaseId id, GrantRecord record, LeaseTopology extent, LeaseTime time, LeaseLedger ledger) {
    long grantedAtNanos =
        timers.nowNanos() - 1_000_000 * Math.max(0, timers.wallMillis() - record.grantedAtMillis());
    return new Lease(
        id,
        record.secretHash(),
        record.holder(),
        record.tenant(),
        record.token(),
        record.pod(),
        record.leaseClass(),
        extent,
        ledger,
        time,
        new LeaseClock(record.limits(), grantedAtNanos, timers.nowNanos()),
        grantedAtNanos);
  }

  /** Ends a lease once it has reached a limit; one of several servers is its home's to end. */
  private void watch(Lease lease) {
    if (!lease.extent().isHome()) {
      return;
    }
    lease.limitTimer =
        lease.clock.nextLookMillis(timers.nowNanos()).stream()
            .mapToObj(millis -> timers.after(millis, () -> check(lease)))
            .findFirst();
  }

  private void check(Lease lease) {
    lease.noteWork(timers.nowNanos());
    peers.noteWork(lease);
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

  /** Why a request finds no room, and what its holder can do. */
  String rejectionReason(Outcome.Full full, LeaseSpec request) {
    return new Shortage(full, request)
        .explain(capacity.isDraining(full.best().gpu().server()), leases.values());
  }

  private static String describe(List<Part> parts) {
    return parts.stream()
        .map(part ->
            part.share()
                + " of "
                + part.partition().map(name -> "partition '" + name + "' of ").orElse("")
                + part.gpu().label()
                + (part.hard() ? " (hard)" : ""))
        .collect(Collectors.joining(", "));
  }
}
