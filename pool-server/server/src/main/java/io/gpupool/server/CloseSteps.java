// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The steps that close a server, in the reverse of the order in which its parts were opened. Used
 * by the thread that opens and closes the server.
 */
final class CloseSteps {
  private static final Logger LOG = LoggerFactory.getLogger(CloseSteps.class);

  private final Deque<Runnable> steps = new ArrayDeque<>();

  /** Adds a step that runs before those that are there. */
  void add(Runnable step) {
    steps.addFirst(step);
  }

  /** Adds a step that runs after all others. */
  void addLast(Runnable step) {
    steps.addLast(step);
  }

  /** Adds a step that is waited for within bounds, until it runs what it is given. */
  void addAwaited(Consumer<Runnable> step) {
    add(() -> await(step));
  }

  void run() {
    while (!steps.isEmpty()) {
      steps.removeFirst().run();
    }
  }

  private static void await(Consumer<Runnable> step) {
    CountDownLatch done = new CountDownLatch(1);
    step.accept(done::countDown);
    try {
      if (!done.await(ServerThreads.STOP_SECONDS, TimeUnit.SECONDS)) {
        LOG.warn("stopping takes over {} s; going on", ServerThreads.STOP_SECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
