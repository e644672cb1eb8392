// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.runtime.Timers;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * A watch over the idle timeouts and time limits of leases. The home server of a lease ends it once
 * it has reached one. Owned by the control thread.
 */
final class LeaseLimitWatch {
  private final Timers timers;
  private final Consumer<Lease> noteRemoteWork;
  private final BiConsumer<Lease, String> end;

  LeaseLimitWatch(Timers timers, Consumer<Lease> noteRemoteWork, BiConsumer<Lease, String> end) {
    this.timers = timers;
    this.noteRemoteWork = noteRemoteWork;
    this.end = end;
  }

  void watch(Lease lease) {
    if (lease.topology().isHome()) {
      lease
          .clock()
          .nextLookMillis(timers.nowNanos())
          .ifPresent(millis -> lease.planLimitCheck(timers.after(millis, () -> check(lease))));
    }
  }

  private void check(Lease lease) {
    lease.noteWork(timers.nowNanos());
    noteRemoteWork.accept(lease);
    lease
        .clock()
        .over(timers.nowNanos())
        .ifPresentOrElse(reason -> end.accept(lease, reason), () -> watch(lease));
  }
}
