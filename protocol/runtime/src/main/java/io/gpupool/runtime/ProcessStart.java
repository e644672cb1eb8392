// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A process, told apart from later ones with the same id by its start.
 *
 * @param started when the process started, as the kernel counts since the boot
 */
public record ProcessStart(long pid, String started) {
  private static final int START_FIELD_BEHIND_NAME = 19;

  /** The process that has this id now; empty: there is none, or it is dead and not yet reaped. */
  public static Optional<ProcessStart> of(long pid) {
    try {
      byte[] stat = Files.readAllBytes(Path.of("/proc/" + pid + "/stat"));
      String text = new String(stat, StandardCharsets.ISO_8859_1);
      // The name before may hold anything, but its closing parenthesis is the last one.
      String[] fields = text.substring(text.lastIndexOf(')') + 2).split(" ");
      return fields[0].equals("Z") || fields[0].equals("X")
          ? Optional.empty()
          : Optional.of(new ProcessStart(pid, fields[START_FIELD_BEHIND_NAME]));
    } catch (IOException | IndexOutOfBoundsException e) {
      return Optional.empty();
    }
  }

  public boolean isAlive() {
    return of(pid).equals(Optional.of(this));
  }

  /** Kills the process, unless it is dead. Does not wait until it is. */
  public void kill() {
    // The handle knows the start of its process, too, and kills no later one.
    ProcessHandle.of(pid).filter(_ -> isAlive()).ifPresent(ProcessHandle::destroyForcibly);
  }
}
