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
  // Of the fields of stat that come after the program's name, which may hold anything.
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
   * The time since the node was booted, in hundredths of a second (USER_HZ, in which Linux tells
   * times): as it was when a process was seen to be there.
   *
   * @throws IOException if proc does not tell
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
   * Whose a process is.
   *
   * @param pid as the kernel tells it of a socket's other end
   * @param thereTicks a time at which it was there, of {@link #nowTicks}
   */
  public Owner ownerOf(long pid, long thereTicks) {
    if (pid <= 0) {
      return new Owner.Unknown(
          "its number is not seen from here: whoever asks must run with the node's processes"
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

  /** Empty: the text is not of that form. */
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
