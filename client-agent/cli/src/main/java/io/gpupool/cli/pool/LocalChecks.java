// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.pool;

import io.gpupool.cli.Amounts;
import io.gpupool.cli.pool.Checks.Verdict;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Checks of this machine: limits of processes, and room on its disk. */
final class LocalChecks {
  private static final Path LIMITS = Path.of("/proc/self/limits");
  private static final long FEW_FILES = 4096;
  private static final long LITTLE_LOCKED_BYTES = 64L << 20;
  private static final long LITTLE_DISK_BYTES = 1L << 30;

  private LocalChecks() {}

  static void run(Checks checks) throws IOException {
    List<String> limits = Files.readAllLines(LIMITS);
    long files = limit(limits, "Max open files");
    checks.add(
        "open files",
        files >= FEW_FILES ? Verdict.OK : Verdict.WARN,
        files + " a process",
        "a server with many sessions runs out: raise 'ulimit -n' to 65536");
    long locked = limit(limits, "Max locked memory");
    checks.add(
        "locked memory",
        locked >= LITTLE_LOCKED_BYTES ? Verdict.OK : Verdict.WARN,
        locked == Long.MAX_VALUE ? "unlimited" : Amounts.bytes(locked),
        "copies from pinned memory are slower: raise 'ulimit -l'");
    Path folder = Path.of(System.getProperty("java.io.tmpdir"));
    long free = Files.getFileStore(folder).getUsableSpace();
    checks.add(
        "disk of " + folder,
        free >= LITTLE_DISK_BYTES ? Verdict.OK : Verdict.WARN,
        Amounts.bytes(free) + " free",
        "make room");
  }

  /** The soft limit of this name in the kernel's table. */
  static long limit(List<String> limits, String name) {
    Pattern row = Pattern.compile(Pattern.quote(name) + " +(\\d+|unlimited) .*");
    for (String line : limits) {
      Matcher match = row.matcher(line);
      if (match.matches()) {
        return match.group(1).equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(match.group(1));
      }
    }
    return Long.MAX_VALUE;
  }
}
