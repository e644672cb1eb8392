// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.lang.foreign.Arena;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * End of a worker with a program that has gone while the driver is in a call, which a kernel that
 * never ends keeps it in: the session's thread notices nothing, and the GPU would be held
 * indefinitely.
 */
public final class Departure {
  private static final long PATIENCE_MILLIS = 10_000;
  private static final int PAUSE_MILLIS = 1000;

  /** Patience with a program that had a whole window to come back in. */
  private static final long PATIENCE_AFTER_WINDOW_MILLIS = 500;

  private static final int LOOK_MILLIS = 250;

  private Departure() {}

  /** Ends this process some time after the peer of a stream has gone, if it is there still. */
  public static void watch(int stream, String session) {
    Thread.ofPlatform().daemon().name("departure").start(() -> run(stream, session));
  }

  /**
   * Ends this process some time after the peer has gone and will not come back, if it is there
   * still.
   *
   * @param goneNanos asked now and then for how long that has been so
   */
  public static void watch(LongSupplier goneNanos, String session) {
    Thread.ofPlatform().daemon().name("departure").start(() -> run(goneNanos, session));
  }

  private static void run(LongSupplier goneNanos, String session) {
    try {
      while (TimeUnit.NANOSECONDS.toMillis(goneNanos.getAsLong()) < PATIENCE_AFTER_WINDOW_MILLIS) {
        Thread.sleep(LOOK_MILLIS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return;
    }
    end(session, PATIENCE_AFTER_WINDOW_MILLIS);
  }

  private static void run(int stream, String session) {
    long pollFd = Arena.global().allocate(8, 4).address();
    Memory.putInt(pollFd, stream);
    Memory.putShort(pollFd + 4, Posix.POLLRDHUP);
    try {
      while (Posix.poll(pollFd, 1, -1) <= 0) {
        Thread.sleep(PAUSE_MILLIS);
      }
      Thread.sleep(PATIENCE_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return;
    }
    end(session, PATIENCE_MILLIS);
  }

  private static void end(String session, long patienceMillis) {
    System.err.println(
        "gpupool worker: "
            + session
            + ": the program has gone and the driver has not come back for "
            + patienceMillis / 1000.0
            + " s; a kernel may not end. This worker ends, and the system takes back what it has");
    Runtime.getRuntime().halt(1);
  }
}
