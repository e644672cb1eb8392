// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.control.v1.Cause;
import io.gpupool.server.Turns.Turn;
import io.gpupool.server.Turns.Waiting;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Requests for leases, from when they are made until they are granted, refused or withdrawn. Owned
 * by the control thread.
 */
final class LeaseQueue {
  private static final int MAX_WAITING = 8192;

  /** After another server was quicker. */
  private static final long AGAIN_MILLIS = 50;

  private static final Logger LOG = LoggerFactory.getLogger(LeaseQueue.class);

  private final Leases leases;
  private final Capacity capacity;
  private final Tenants tenants;
  private final Timers timers;
  private final Map<Long, Entry> entries = new LinkedHashMap<>();
  private long lastNumber;
  private boolean draining;

  /** Who asked. Told on the control thread; after {@code granted} or {@code refused} no more. */
  interface Asker {
    /** It waits; told again whenever its place changes. The next one has place 1. */
    void queued(int place, String reason);

    void granted(Leases.Granted granted);

    void refused(Cause cause, String reason);
  }

  /** A place in the queue. */
  static final class Entry {
    final Request request;
    private final Waiting waiting;
    private final Asker asker;
    private Optional<Timers.Cancellable> limit = Optional.empty();
    private int place;
    private String reason = "";
    private Cause cause = Cause.CAUSE_NO_CAPACITY;

    private Entry(Request request, Waiting waiting, Asker asker) {
      this.request = request;
      this.waiting = waiting;
      this.asker = asker;
    }

    String id() {
      return "Q" + waiting.number();
    }

    int place() {
      return place;
    }

    String reason() {
      return reason;
    }

    long sinceNanos() {
      return waiting.sinceNanos();
    }
  }

  LeaseQueue(Leases leases, Capacity capacity, Tenants tenants, Timers timers) {
    this.leases = leases;
    this.capacity = capacity;
    this.tenants = tenants;
    this.timers = timers;
    leases.whenFreed(this::settle);
  }

  /** Asks for a lease; the asker is told at once or later. */
  Entry ask(Request request, Asker asker) {
    Waiting waiting =
        new Waiting(
            ++lastNumber, request.ask(), request.tenant(), request.priority(), timers.nowNanos());
    Entry entry = new Entry(request, waiting, asker);
    if (draining) {
      refuse(entry, Cause.CAUSE_DRAINING, "this server is stopping and grants nothing more");
      return entry;
    }
    Optional<String> tooImportant = tenants.whyNot(request.tenant(), request.priority());
    if (tooImportant.isPresent()) {
      refuse(entry, Cause.CAUSE_DENIED, tooImportant.get());
      return entry;
    }
    if (entries.size() >= MAX_WAITING) {
      refuse(entry, Cause.CAUSE_NO_CAPACITY, entries.size() + " requests wait already");
      return entry;
    }
    entries.put(waiting.number(), entry);
    settle();
    if (entries.containsKey(waiting.number())) {
      if (request.waitMillis() == 0) {
        entries.remove(waiting.number());
        refuse(entry, entry.cause, entry.reason);
      } else {
        entry.limit = Optional.of(timers.after(request.waitMillis(), () -> expire(entry)));
      }
    }
    return entry;
  }

  /** Takes a request back; one that was granted or refused is left as it is. */
  void withdraw(Entry entry) {
    if (remove(entry)) {
      LOG.info("request {} is withdrawn", entry.id());
      settle();
    }
  }

  /** One that waits. */
  Optional<Entry> find(String id) {
    return entries.values().stream().filter(entry -> entry.id().equals(id)).findFirst();
  }

  /** Takes a request out of the queue although its asker is still there. */
  void cancel(Entry entry, String reason) {
    if (remove(entry)) {
      refuse(entry, Cause.CAUSE_CANCELLED, reason);
      settle();
    }
  }

  /** All that wait, in the order of their places. */
  List<Entry> all() {
    return entries.values().stream().sorted(Comparator.comparingInt(Entry::place)).toList();
  }

  /** Refuses all that wait and whoever comes, and ends all leases. */
  void drain(String reason) {
    stopGranting(reason);
    leases.drain(reason);
  }

  /** Refuses all that wait and whoever comes; leases go on. */
  void stopGranting(String reason) {
    draining = true;
    for (Entry entry : List.copyOf(entries.values())) {
      remove(entry);
      refuse(entry, Cause.CAUSE_DRAINING, reason);
    }
  }

  private void expire(Entry entry) {
    if (remove(entry)) {
      refuse(
          entry,
          entry.cause,
          "waited " + shortest(entry.request.waitMillis()) + "; " + entry.reason);
      settle();
    }
  }

  /** Gives turns; to be called whenever something may have become free. */
  void settle() {
    List<Waiting> waiting = entries.values().stream().map(entry -> entry.waiting).toList();
    List<Entry> moved = new ArrayList<>();
    int place = 0;
    for (Turn turn : turns(waiting)) {
      Entry entry = entries.get(turn.waiting().number());
      switch (turn) {
        case Turn.Now now -> grant(entry, now);
        case Turn.Never never -> {
          remove(entry);
          refuse(entry, Cause.CAUSE_NO_MATCH, never.reason());
        }
        case Turn.Later later -> {
          entry.cause =
              capacity.isDraining(later.full().best().gpu().server())
                  ? Cause.CAUSE_DRAINING
                  : Cause.CAUSE_NO_CAPACITY;
          entry.reason = leases.whyNot(later.full(), entry.request);
          if (stand(entry, ++place)) {
            moved.add(entry);
          }
        }
        case Turn.Barred barred -> {
          entry.cause = Cause.CAUSE_DENIED;
          entry.reason = barred.reason();
          if (barred.ever()) {
            remove(entry);
            refuse(entry, Cause.CAUSE_DENIED, barred.reason());
          } else if (stand(entry, ++place)) {
            moved.add(entry);
          }
        }
        case Turn.Behind behind -> {
          entry.cause = Cause.CAUSE_NO_CAPACITY;
          Entry first = entries.get(behind.first().number());
          entry.reason =
              "what is free is kept for a request that has waited longer (" + first.id() + ")";
          if (stand(entry, ++place)) {
            moved.add(entry);
          }
        }
      }
    }
    moved.forEach(entry -> entry.asker.queued(entry.place, entry.reason));
  }

  /** Notes a place; true if it is news to one who waits. */
  private static boolean stand(Entry entry, int place) {
    boolean moved = entry.place != place && entry.request.waitMillis() > 0;
    entry.place = place;
    return moved;
  }

  private List<Turn> turns(List<Waiting> waiting) {
    return waiting.isEmpty()
        ? List.of()
        : Turns.decide(waiting, capacity.snapshot(), tenants.budgets(), timers.nowNanos());
  }

  private void grant(Entry entry, Turn.Now now) {
    entries.remove(entry.waiting.number());
    try {
      Leases.Granted granted = leases.grant(entry.request, now.parts());
      entry.limit.ifPresent(Timers.Cancellable::cancel);
      entry.asker.granted(granted);
    } catch (RefusedException e) {
      if (e.why() == RefusedException.Why.CHANGED && entry.request.waitMillis() > 0) {
        entries.put(entry.waiting.number(), entry);
        timers.after(AGAIN_MILLIS, this::settle);
      } else {
        entry.limit.ifPresent(Timers.Cancellable::cancel);
        refuse(
            entry,
            e.why() == RefusedException.Why.DENIED ? Cause.CAUSE_DENIED : Cause.CAUSE_NO_CAPACITY,
            e.getMessage());
      }
    } catch (IOException e) {
      LOG.error("request {} cannot be granted: {}", entry.id(), e.getMessage());
      entry.limit.ifPresent(Timers.Cancellable::cancel);
      refuse(entry, Cause.CAUSE_NO_CAPACITY, "the server cannot grant it: " + e.getMessage());
    }
  }

  private boolean remove(Entry entry) {
    entry.limit.ifPresent(Timers.Cancellable::cancel);
    return entries.remove(entry.waiting.number(), entry);
  }

  private static void refuse(Entry entry, Cause cause, String reason) {
    String text = "asked for " + entry.request.ask().describe() + "; " + reason;
    LOG.info("lease refused: {}", text);
    entry.asker.refused(cause, text);
  }

  private static String shortest(long millis) {
    return Duration.ofMillis(millis).toString().substring(2).toLowerCase(Locale.ROOT);
  }
}
