// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.stream;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The lines of the log about refused connections: a few a second, so that whoever can connect
 * cannot fill it. For any thread.
 */
final class RefusalLog {
  static final int LINES_A_SECOND = 20;
  private static final long SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final LongSupplier nanos;
  private final Consumer<String> log;

  @GuardedBy("this")
  private long secondBegan;

  @GuardedBy("this")
  private int lines;

  @GuardedBy("this")
  private long leftOut;

  RefusalLog(LongSupplier nanos, Consumer<String> log) {
    this.nanos = nanos;
    this.log = log;
    secondBegan = nanos.getAsLong();
  }

  void refused(@Nullable Object from, String why) {
    long before = 0;
    synchronized (this) {
      if (nanos.getAsLong() - secondBegan >= SECOND_NANOS) {
        secondBegan = nanos.getAsLong();
        lines = 0;
        before = leftOut;
        leftOut = 0;
      }
      if (lines == LINES_A_SECOND) {
        leftOut++;
        return;
      }
      lines++;
    }
    if (before > 0) {
      log.accept(before + " more call streams were refused before");
    }
    log.accept("call stream from " + from + " refused: " + why);
  }
}
