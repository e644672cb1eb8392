// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.identity;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;

/**
 * A finder of processes' pods in a proc file system, which must be one that shows the node's
 * processes (of a pod with hostPID). For any thread.
 *
 * <p>A process is known by its number, which another process may have by the time of the look-up.
 * So each process is looked at twice, and the caller says when the process was there: one that
 * started later is another.
 */
public final class PodProcesses {
  // An index into the fields of stat after the program's name, which may hold anything.
  private static final int START_FIELD = 22 - 3;

  private final Path proc;

  /**
   * Reads nothing yet.
   *
   * @param proc /proc, or where the node's is mounted
   */
  public PodProcesses(Path proc) {
    this.proc = proc;
  }

  /**
   * Returns the time since the node was booted, in hundredths of a second (USER_HZ, the unit of
   * Linux's times). Callers keep it as the time at which a process was seen.
   *
   * @throws IOException if proc does not have it
   */
  public long nowTicks() throws IOException {
    Path uptime = proc.resolve("uptime");
    String text = Files.readString(uptime, StandardCharsets.ISO_8859_1);
    try {
      return new BigDecimal(text.substring(0, Math.max(0, text.indexOf(' '))))
          .movePointRight(2)
          .longValue();
    } catch (NumberFormatException e) {
      throw new IOException(uptime + " begins with no time: '" + text.strip() + "'", e);
    }
  }

  /**
   * Returns the owner of a process.
   *
   * @param pid as the kernel gives it for a socket's other end
   * @param thereTicks a time at which the process was there, from {@link #nowTicks}
   */
  public Owner ownerOf(long pid, long thereTicks) {
    if (pid <= 0) {
      return new Owner.Unknown(
          "its number is not seen from here: the agent must run with the node's processes"
              + " (hostPID)");
    }
    Path process = proc.resolve(Long.toString(pid));
    try {
      OptionalLong start = startTicks(process);
      if (start.isEmpty()) {
        return new Owner.Unknown("process " + pid + " has a state that cannot be read");
      }
      if (start.getAsLong() > thereTicks) {
        return new Owner.Unknown("process " + pid + " is another one by now");
      }
      Owner owner =
          ControlGroups.owner(
              Files.readString(process.resolve("cgroup"), StandardCharsets.ISO_8859_1));
      return startTicks(process).equals(start)
          ? owner
          : new Owner.Unknown("process " + pid + " is another one by now");
    } catch (IOException e) {
      return new Owner.Unknown(
          Files.isDirectory(process)
              ? "process " + pid + " cannot be looked at: " + e
              : "there is no process " + pid + " (any more)");
    }
  }

  private static OptionalLong startTicks(Path process) throws IOException {
    return startTicks(Files.readString(process.resolve("stat"), StandardCharsets.ISO_8859_1));
  }

  /** Returns a process's start time; empty if the text does not have that form. */
  static OptionalLong startTicks(String stat) {
    String[] fields = stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ");
    try {
      return fields.length > START_FIELD
          ? OptionalLong.of(Long.parseLong(fields[START_FIELD]))
          : OptionalLong.empty();
    } catch (NumberFormatException e) {
      return OptionalLong.empty();
    }
  }
}
