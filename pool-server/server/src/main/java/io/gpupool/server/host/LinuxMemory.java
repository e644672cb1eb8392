// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The memory as Linux accounts for it: the machine's, and that of this process's control group and
 * of all groups around it, whichever has least left. It reads cgroup v1 and v2. For any thread.
 */
public final class LinuxMemory implements HostMemory {
  private static final long KIBIBYTE = 1024;

  /** Limits beyond this are how cgroup v1 spells none. */
  private static final long NO_LIMIT = 1L << 60;

  private static final Cgroup V1 =
      new Cgroup("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
  private static final Cgroup V2 = new Cgroup("memory.max", "memory.current", "inactive_file");

  private final Path root;

  /** Names of a cgroup version's files, and of the page cache that the kernel gives up first. */
  private record Cgroup(String limit, String usage, String reclaimable) {}

  public LinuxMemory() {
    this(Path.of("/"));
  }

  /** Of a system whose files are in a folder. */
  LinuxMemory(Path root) {
    this.root = root;
  }

  @Override
  public long availableBytes() {
    long available =
        field(root.resolve("proc/meminfo"), "MemAvailable:").orElse(Long.MAX_VALUE / KIBIBYTE)
            * KIBIBYTE;
    for (String line : lines(root.resolve("proc/self/cgroup"))) {
      String[] parts = line.split(":", 3);
      if (parts.length == 3 && parts[1].isEmpty()) {
        available = Math.min(available, within(root.resolve("sys/fs/cgroup"), parts[2], V2));
      } else if (parts.length == 3 && List.of(parts[1].split(",")).contains("memory")) {
        available = Math.min(available, within(root.resolve("sys/fs/cgroup/memory"), parts[2], V1));
      }
    }
    return Math.max(0, available);
  }

  @Override
  public long residentBytes(long pid) {
    return field(root.resolve("proc/" + pid + "/status"), "RssAnon:").orElse(0) * KIBIBYTE;
  }

  /** Left in a group and in all that it is part of; a container sees its own group as the root. */
  private static long within(Path mount, String name, Cgroup version) {
    Path folder = mount.resolve(name.substring(1)).normalize();
    if (!folder.startsWith(mount) || !Files.isDirectory(folder)) {
      folder = mount;
    }
    long least = Long.MAX_VALUE;
    for (@Nullable Path group = folder;
        group != null && group.startsWith(mount);
        group = group.getParent()) {
      least = Math.min(least, left(group, version));
    }
    return least;
  }

  private static long left(Path folder, Cgroup version) {
    OptionalLong limit = first(folder.resolve(version.limit()));
    OptionalLong usage = first(folder.resolve(version.usage()));
    if (limit.isEmpty() || usage.isEmpty() || limit.getAsLong() >= NO_LIMIT) {
      return Long.MAX_VALUE;
    }
    long reclaimable = field(folder.resolve("memory.stat"), version.reclaimable()).orElse(0);
    return limit.getAsLong() - usage.getAsLong() + reclaimable;
  }

  private static OptionalLong first(Path file) {
    List<String> lines = lines(file);
    return lines.isEmpty() ? OptionalLong.empty() : number(lines.getFirst());
  }

  private static OptionalLong field(Path file, String name) {
    for (String line : lines(file)) {
      String[] words = line.split("\\s+");
      if (words.length > 1 && words[0].equals(name)) {
        return number(words[1]);
      }
    }
    return OptionalLong.empty();
  }

  /** Empty where it is not a number, such as {@code max}. */
  private static OptionalLong number(String text) {
    try {
      return OptionalLong.of(Long.parseLong(text.strip()));
    } catch (NumberFormatException e) {
      return OptionalLong.empty();
    }
  }

  private static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file);
    } catch (IOException e) {
      return List.of();
    }
  }
}
