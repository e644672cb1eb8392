// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.context;

import io.gpupool.worker.session.core.ContextState;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntSupplier;

/**
 * A limit of the time that a driver has to take down a context after an error that stays: a kernel
 * that does not end may keep it forever. The session ends then.
 */
public final class ReleaseLimit {
  private static final long SECONDS = 10;

  private final Consumer<String> abort;

  /**
   * Makes one.
   *
   * @param abort ends the session, with a reason for the program
   */
  public ReleaseLimit(Consumer<String> abort) {
    this.abort = abort;
  }

  /** Makes a call that takes a context down, or its work. */
  int call(ContextState context, IntSupplier release) {
    if (!context.hasFailed()) {
      return release.getAsInt();
    }
    CountDownLatch done = new CountDownLatch(1);
    Thread.ofPlatform().daemon().name("session-release").start(() -> watch(done));
    try {
      return release.getAsInt();
    } finally {
      done.countDown();
    }
  }

  private void watch(CountDownLatch done) {
    try {
      if (!done.await(SECONDS, TimeUnit.SECONDS)) {
        abort.accept(
            "the driver has not taken down a context for "
                + SECONDS
                + " s after an error of a kernel; start the program again");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
