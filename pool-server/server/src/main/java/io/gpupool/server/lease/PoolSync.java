// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Membership;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ServerEntry;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has this server do what follows from changes that others make: looks at everything again, a
 * moment after something has changed and once a second. What is looked at decides, not what
 * changed, so nothing is missed. Runs on the control thread.
 */
public final class PoolSync {
  private static final long SOON_MILLIS = 10;
  private static final long EACH_MILLIS = 1000;

  /** However much there is to look at, most of the time is left for other things. */
  private static final long REST_FACTOR = 3;

  private static final Logger LOG = LoggerFactory.getLogger(PoolSync.class);

  private final RecordStore records;
  private final Membership members;
  private final Leases leases;
  private final LeaseQueue queue;
  private final Timers timers;
  private final Supplier<ServerEntry> self;
  private long pauseMillis;
  private final AtomicBoolean planned = new AtomicBoolean();

  public PoolSync(
      RecordStore records,
      Membership members,
      Leases leases,
      LeaseQueue queue,
      Timers timers,
      Supplier<ServerEntry> self) {
    this.records = records;
    this.members = members;
    this.leases = leases;
    this.queue = queue;
    this.timers = timers;
    this.self = self;
  }

  /** From now on; the server's ports are open. */
  public void start(Executor control) {
    Runnable plan =
        () -> {
          if (planned.compareAndSet(false, true)) {
            control.execute(() -> timers.after(Math.max(SOON_MILLIS, pauseMillis), this::changed));
          }
        };
    // Nothing follows from what is for people to see.
    RecordTypes.ALL.stream()
        .filter(kind -> kind != RecordTypes.SERVER_STATUSES)
        .forEach(kind -> records.whenChanged(kind, plan));
    control.execute(this::eachSecond);
  }

  private void changed() {
    planned.set(false);
    check();
  }

  private void eachSecond() {
    timers.after(EACH_MILLIS, this::eachSecond);
    check();
  }

  private void check() {
    long beganNanos = timers.nowNanos();
    doWhatFollows();
    pauseMillis = REST_FACTOR * TimeUnit.NANOSECONDS.toMillis(timers.nowNanos() - beganNanos);
  }

  private void doWhatFollows() {
    records.trouble().ifPresent(queue::redirect);
    members.refresh();
    leases.reconcile();
    if (!members.isRegistered() && leases.allLeasesKnownToPool()) {
      try {
        members.register(self.get());
      } catch (StateException e) {
        LOG.debug("not in the pool yet: {}", e.getMessage());
      }
    }
    if (members.isFirst()) {
      leases.reapLeasesOfDeadServers();
    }
    queue.reconcile();
  }
}
