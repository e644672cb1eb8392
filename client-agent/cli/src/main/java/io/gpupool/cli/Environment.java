// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.client.lease.LeaseOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The environment variables that stand for options. */
public final class Environment {
  private Environment() {}

  public static Optional<String> variable(String name) {
    return Optional.ofNullable(System.getenv(name)).filter(value -> !value.isBlank());
  }

  public static Optional<String> pool() {
    return variable("GPUPOOL_POOL");
  }

  /**
   * Returns the token of {@code GPUPOOL_TOKEN}, else the text of the file {@code
   * GPUPOOL_TOKEN_FILE}; null: neither is set.
   */
  public static @Nullable String token() {
    return variable("GPUPOOL_TOKEN")
        .or(() -> variable("GPUPOOL_TOKEN_FILE").map(Environment::read))
        .orElse(null);
  }

  /**
   * Returns the options that {@code GPUPOOL_GPUS}, {@code _FRACTION}, {@code _MEMORY}, {@code
   * _COMPUTE}, {@code _CLASS}, {@code _IDLE_TIMEOUT}, {@code _TIME_LIMIT} and {@code
   * _RESUME_WINDOW} name.
   */
  public static LeaseOptions wish() {
    return LeaseOptions.from(
        name -> variable("GPUPOOL_" + name.toUpperCase(Locale.ROOT)).filter(v -> !isSpec(v)));
  }

  /** Returns whether the text names GPUs to serve rather than a number of them. */
  public static boolean isSpec(String text) {
    return text.equals("all") || text.startsWith("soft");
  }

  private static String read(String file) {
    try {
      return Files.readString(Path.of(file)).strip();
    } catch (IOException e) {
      throw new UncheckedIOException("GPUPOOL_TOKEN_FILE: cannot read " + file, e);
    }
  }
}
