// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.process;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Environment variables that can replace options, and checks of options. */
public final class Environment {
  private static final int MAX_PORT = 65_535;

  private Environment() {}

  public static Optional<String> variable(String name) {
    return Optional.ofNullable(System.getenv(name)).filter(value -> !value.isBlank());
  }

  /**
   * Returns the option's value, else the variable's; throws {@link IllegalArgumentException} if
   * neither is set.
   */
  public static String required(String option, @Nullable String value, String variable) {
    return Optional.ofNullable(value)
        .or(() -> variable(variable))
        .orElseThrow(
            () -> new IllegalArgumentException("give " + option + ", or the variable " + variable));
  }

  /** Throws {@link IllegalArgumentException} for a number that is not a port. */
  public static int port(String option, int number) {
    if (number < 0 || number > MAX_PORT) {
      throw new IllegalArgumentException(option + " " + number + ": ports are 0 to " + MAX_PORT);
    }
    return number;
  }
}
