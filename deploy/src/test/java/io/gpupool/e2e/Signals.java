// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.io.IOException;

/** Sends signals to processes and process groups. */
final class Signals {
  private Signals() {}

  /**
   * Sends a signal; a target that is gone already is no error.
   *
   * @param name such as TERM
   * @param target a process id, or a process group's id with a minus sign before it
   */
  static void send(String name, String target) {
    try {
      new ProcessBuilder("kill", "-s", name, "--", target)
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start()
          .waitFor();
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
