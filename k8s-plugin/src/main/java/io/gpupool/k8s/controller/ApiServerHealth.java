// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.gpupool.k8s.controller.options.ControllerOptions;
import io.gpupool.k8s.controller.pod.Api;
import io.gpupool.k8s.controller.pod.ApiCalls;
import io.gpupool.runtime.Timers;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Health of the API server. After a long outage the controller no longer trusts what it knows of
 * pods. Owned by the controller's thread.
 */
final class ApiServerHealth {
  private static final int NO_ANSWER = 0;
  private static final int SERVER_ERROR = 500;
  private static final Logger LOG = LoggerFactory.getLogger(ApiServerHealth.class);

  /** The controller's reaction to outages. */
  interface Listener {
    /** Returns whether all changes are reported again. */
    boolean isWatching();

    void apart();

    void back();
  }

  private final Api api;
  private final ApiCalls calls;
  private final Timers timers;
  private final Duration patience;
  private final Duration every;
  private final Listener listener;
  private long heardAtNanos;
  private boolean apart;
  private boolean closed;

  ApiServerHealth(
      Api api, ApiCalls calls, Timers timers, ControllerOptions.Times times, Listener listener) {
    this.api = api;
    this.calls = calls;
    this.timers = timers;
    patience = times.contact().lost();
    every = times.contact().every();
    this.listener = listener;
    heardAtNanos = timers.nowNanos();
  }

  void start() {
    ask();
  }

  void close() {
    closed = true;
  }

  private void ask() {
    calls.run(
        () -> {
          api.touch();
          return true;
        },
        answered -> told(true),
        // Any answer means that it is there, unless something in front of it may have answered.
        failure -> told(failure.getCode() != NO_ANSWER && failure.getCode() < SERVER_ERROR));
  }

  private void told(boolean answered) {
    if (closed) {
      return;
    }
    long nowNanos = timers.nowNanos();
    if (answered && listener.isWatching()) {
      heardAtNanos = nowNanos;
      if (apart) {
        apart = false;
        LOG.info("the API server is back");
        listener.back();
      }
    } else if (!apart && nowNanos - heardAtNanos >= patience.toNanos()) {
      apart = true;
      LOG.warn(
          "the API server could not be reached for {}; leases are left to the pool's grace",
          patience);
      listener.apart();
    }
    timers.after(every, this::ask);
  }
}
