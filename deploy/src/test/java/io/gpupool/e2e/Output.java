// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Predicate;

/** What a process prints on one stream, read by a thread of its own as it comes. */
final class Output {
  private static final Duration SETTLING = Duration.ofMillis(500);

  private final StringBuilder text = new StringBuilder();
  private final Thread reader;
  private int passed;
  private boolean ended;

  Output(InputStream stream) {
    reader = Thread.ofPlatform().daemon().name("output").start(() -> read(stream));
  }

  synchronized String text() {
    return text.toString();
  }

  /** The first line after those already awaited that is as wanted, or none within the time. */
  synchronized Optional<String> awaitLine(Predicate<String> wanted, Duration patience) {
    long deadline = System.nanoTime() + patience.toNanos();
    while (true) {
      Optional<String> line = nextLine(wanted);
      long leftMillis = (deadline - System.nanoTime()) / 1_000_000;
      if (line.isPresent() || ended || leftMillis <= 0) {
        return line;
      }
      try {
        wait(leftMillis);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }

  void awaitQuiet() {
    try {
      reader.join(SETTLING);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private Optional<String> nextLine(Predicate<String> wanted) {
    int end = text.indexOf("\n", passed);
    while (end >= 0) {
      String line = text.substring(passed, end);
      passed = end + 1;
      if (wanted.test(line)) {
        return Optional.of(line);
      }
      end = text.indexOf("\n", passed);
    }
    return Optional.empty();
  }

  private void read(InputStream stream) {
    byte[] bytes = new byte[8192];
    try (stream) {
      int count = stream.read(bytes);
      while (count >= 0) {
        append(new String(bytes, 0, count, UTF_8));
        count = stream.read(bytes);
      }
    } catch (IOException e) {
      append("[" + e.getMessage() + "]\n");
    }
    end();
  }

  private synchronized void append(String part) {
    text.append(part);
    notifyAll();
  }

  private synchronized void end() {
    ended = true;
    notifyAll();
  }
}
