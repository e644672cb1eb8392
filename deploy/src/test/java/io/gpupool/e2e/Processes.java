// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;

/** The processes of this machine, read from /proc. */
final class Processes {
  /** SIGHUP and SIGINT in a set of signals. */
  private static final int ENDING_BITS = 1 | (1 << 1);

  private Processes() {}

  /** Ids of the processes that were started with this variable, as all descendants are. */
  static List<Long> withVariable(String name, String value) {
    String wanted = name + "=" + value;
    return ProcessHandle.allProcesses()
        .map(ProcessHandle::pid)
        .filter(pid -> variables(pid).contains(wanted))
        .toList();
  }

  /** The memory of a process that lies in the machine's memory. */
  static long residentBytes(long pid) throws IOException {
    return Long.parseLong(status(pid, "VmRSS").replaceAll("\\D", "")) << 10;
  }

  /**
   * Returns whether this process ignores interrupts, as a shell's background jobs do, or hangups,
   * as {@code nohup} has it.
   */
  static boolean ignoresEndingSignals() {
    try {
      long ignored = Long.parseUnsignedLong(status(ProcessHandle.current().pid(), "SigIgn"), 16);
      return (ignored & ENDING_BITS) != 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What the kernel says of a process in a line of its status. */
  private static String status(long pid, String name) throws IOException {
    String begin = name + ":";
    return Files.readAllLines(Path.of("/proc", Long.toString(pid), "status")).stream()
        .filter(line -> line.startsWith(begin))
        .map(line -> line.substring(begin.length()).strip())
        .findFirst()
        .orElseThrow();
  }

  /** The same of a process that may end at any time; 0 if it has ended. */
  static long residentBytesUntilItsEnd(long pid) {
    try {
      return residentBytes(pid);
    } catch (IOException | NoSuchElementException e) {
      return 0;
    }
  }

  /** Ids of the processes whose command lines have all of these in them. */
  static List<Long> ofCommand(String... parts) {
    return ProcessHandle.allProcesses()
        .map(ProcessHandle::pid)
        .filter(pid -> {
          String command = String.join(" ", texts(pid, "cmdline"));
          return Arrays.stream(parts).allMatch(command::contains);
        })
        .toList();
  }

  private static List<String> variables(long pid) {
    return texts(pid, "environ");
  }

  private static List<String> texts(long pid, String file) {
    try {
      byte[] texts = Files.readAllBytes(Path.of("/proc", Long.toString(pid), file));
      return Arrays.asList(new String(texts, ISO_8859_1).split("\0"));
    } catch (IOException e) {
      // It has ended meanwhile, or is a zombie.
      return List.of();
    }
  }
}
