// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * A token in a file that somebody renews, such as a service account's that is projected into a pod.
 * For any thread.
 */
public final class TokenFile implements Supplier<String> {
  // Kubelets renew a token long before it is over.
  private static final long FRESH_NANOS = Duration.ofSeconds(10).toNanos();

  private final Path file;

  @GuardedBy("this")
  private String token = "";

  @GuardedBy("this")
  private long readNanos;

  /** Reads nothing yet. */
  public TokenFile(Path file) {
    this.file = file;
  }

  /**
   * Returns the token that the file holds now, or held a few seconds ago.
   *
   * @throws UncheckedIOException if it cannot be read; the message is for people
   */
  @Override
  public synchronized String get() {
    long nowNanos = System.nanoTime();
    if (token.isEmpty() || nowNanos - readNanos > FRESH_NANOS) {
      token = read();
      readNanos = nowNanos;
    }
    return token;
  }

  /** Returns whether the other is of the same file. */
  @Override
  public boolean equals(Object other) {
    return other instanceof TokenFile token && file.equals(token.file);
  }

  @Override
  public int hashCode() {
    return file.hashCode();
  }

  private String read() {
    String text;
    try {
      text = Files.readString(file).strip();
    } catch (NoSuchFileException e) {
      throw new UncheckedIOException("there is no token file " + file, e);
    } catch (IOException e) {
      throw new UncheckedIOException(
          "the token file " + file + " cannot be read (" + e.getMessage() + ")", e);
    }
    if (text.isEmpty()) {
      throw new IllegalArgumentException("the token file " + file + " is empty");
    }
    return text;
  }
}
