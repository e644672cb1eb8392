// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.k8s.controller.options.ControllerOptions;
import io.gpupool.runtime.BackOff;
import io.gpupool.runtime.Timers;
import io.grpc.Status;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Releases of leases, each repeated until the pool has confirmed it. Owned by the controller's
 * thread.
 */
final class Releases {
  private static final int AT_ONCE = 64;
  private static final Logger LOG = LoggerFactory.getLogger(Releases.class);

  private final PoolCalls connections;
  private final Timers timers;
  private final ControllerOptions.Times times;
  private final RandomGenerator random;
  private final Map<String, Release> releases = new HashMap<>();
  private final Queue<Release> waiting = new ArrayDeque<>();
  private int running;

  Releases(
      PoolCalls connections, Timers timers, ControllerOptions.Times times, RandomGenerator random) {
    this.connections = connections;
    this.timers = timers;
    this.times = times;
    this.random = random;
  }

  /** A lease that is to end. */
  private final class Release {
    private final String lease;
    private final String reason;
    private final List<Runnable> whenDone = new ArrayList<>();
    private final BackOff pause = times.retries().jittered(random);

    private Release(String lease, String reason) {
      this.lease = lease;
      this.reason = reason;
    }
  }

  /** Returns whether a lease is to end. */
  boolean has(String lease) {
    return releases.containsKey(lease);
  }

  void release(String lease, String reason, Runnable done) {
    Release release = releases.get(lease);
    if (release == null) {
      release = new Release(lease, reason);
      releases.put(lease, release);
      waiting.add(release);
    }
    release.whenDone.add(done);
    pump();
  }

  private void pump() {
    while (running < AT_ONCE && !waiting.isEmpty()) {
      running++;
      Release release = waiting.remove();
      connections
          .pool()
          .releaseLease(
              ReleaseLeaseRequest.newBuilder()
                  .setLeaseId(release.lease)
                  .setReason(release.reason)
                  .build(),
              PoolCalls.answer(reply -> done(release), status -> failed(release, status)));
    }
  }

  private void failed(Release release, Status status) {
    if (status.getCode() == Status.Code.NOT_FOUND) {
      done(release);
      return;
    }
    LOG.debug("lease {} cannot be ended yet: {}", release.lease, status);
    running--;
    timers.after(
        release.pause.next(),
        () -> {
          waiting.add(release);
          pump();
        });
    pump();
  }

  private void done(Release release) {
    LOG.info("lease {} is ended: {}", release.lease, release.reason);
    running--;
    releases.remove(release.lease);
    List.copyOf(release.whenDone).forEach(Runnable::run);
    pump();
  }
}
