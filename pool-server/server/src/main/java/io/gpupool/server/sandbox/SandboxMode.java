// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import java.util.Arrays;
import java.util.stream.Collectors;

/** The degree to which a server insists on the sandbox around its workers. */
public enum SandboxMode {
  /** It does not start where one is missing. */
  REQUIRED("required"),
  /** It says at its start which are missing, and goes on with the others. */
  BEST_EFFORT("best-effort"),
  /** Workers run as the server does, but with an environment of their own. */
  OFF("off");

  private final String text;

  SandboxMode(String text) {
    this.text = text;
  }

  /**
   * The mode that a user names.
   *
   * @throws IllegalArgumentException if there is none of this name
   */
  public static SandboxMode of(String text) {
    return Arrays.stream(values())
        .filter(mode -> mode.text.equals(text))
        .findFirst()
        .orElseThrow(() ->
            new IllegalArgumentException(
                "--sandbox "
                    + text
                    + ": give "
                    + Arrays.stream(values()).map(m -> m.text).collect(Collectors.joining(", "))));
  }

  @Override
  public String toString() {
    return text;
  }
}
