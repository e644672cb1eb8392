// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The files and folders that a worker may open, as lines of a launcher's plan: its software, the
 * system's libraries, the kernel files that a Java runtime reads, and for a driver its device
 * nodes.
 */
final class ReachablePaths {
  private static final List<String> LIBRARIES =
      List.of(
          "/lib",
          "/lib64",
          "/usr/lib",
          "/usr/lib64",
          "/etc/ld.so.cache",
          "/etc/localtime",
          "/usr/share/zoneinfo");
  private static final List<String> PROGRAM_LOADERS =
      List.of("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1");
  private static final List<String> KERNEL =
      List.of(
          "/proc/cgroups",
          "/proc/cpuinfo",
          "/proc/filesystems",
          "/proc/meminfo",
          "/proc/stat",
          "/proc/sys/vm",
          "/proc/version",
          "/sys/devices/system",
          "/sys/fs/cgroup",
          "/sys/kernel/mm",
          "/dev/random",
          "/dev/urandom",
          "/dev/zero");
  private static final List<String> DRIVER =
      List.of(
          "/etc/nvidia",
          "/proc/devices",
          "/proc/driver",
          "/proc/modules",
          "/run/nvidia",
          "/sys/bus/pci",
          "/sys/devices",
          "/sys/module",
          "/usr/local/cuda",
          "/usr/local/lib",
          "/usr/local/nvidia",
          "/usr/share/nvidia");
  private static final String DEVICES = "{nvidia*,nvhost*,nvmap,dxg}";

  private ReachablePaths() {}

  /** Of a worker on software GPUs. */
  static List<String> ofSoftware(Path software) {
    List<String> lines = new ArrayList<>();
    add(lines, "exec", PROGRAM_LOADERS);
    add(lines, "exec", List.of(software.resolve("runtime/bin/java").toString()));
    add(lines, "read", List.of(software.toString()));
    add(lines, "read", LIBRARIES);
    add(lines, "read", KERNEL);
    add(lines, "write", List.of("/dev/null"));
    return lines;
  }

  /**
   * What a worker on the driver's GPUs may open besides.
   *
   * @param libraries the driver's, where they are named
   * @param libraryPath folders in which the linker looks for others, with colons between
   * @param services folders of the driver's services
   */
  static List<String> ofDriver(
      List<Path> libraries, @Nullable String libraryPath, List<String> services)
      throws IOException {
    List<String> lines = new ArrayList<>();
    add(lines, "read", DRIVER);
    for (Path library : libraries) {
      Path real = library.toRealPath();
      add(lines, "read", List.of(library.toAbsolutePath().toString(), real.toString()));
      // A driver's libraries load each other, and lie side by side.
      add(lines, "read", List.of(Objects.requireNonNull(real.getParent()).toString()));
    }
    if (libraryPath != null) {
      add(lines, "read", Stream.of(libraryPath.split(":")).filter(f -> f.startsWith("/")).toList());
    }
    try (DirectoryStream<Path> nodes = Files.newDirectoryStream(Path.of("/dev"), DEVICES)) {
      nodes.forEach(node -> lines.add("write " + node));
    }
    lines.add("write /dev/shm");
    add(lines, "write", services);
    return lines;
  }

  private static void add(List<String> lines, String access, List<String> paths) {
    paths.forEach(path -> lines.add(access + " " + path));
  }
}
