// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.identity;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A proc file system with the processes that a test says. */
public final class StandInProc {
  private final Path folder;

  /** Of a node that was started 88208 seconds ago. */
  public StandInProc(Path folder) throws IOException {
    this.folder = folder;
    Files.createDirectories(folder);
    Files.writeString(folder.resolve("uptime"), "88208.22 34645.76\n");
  }

  /** Has a process there, in this line of a control group. */
  public void process(long pid, long startTicks, String group) throws IOException {
    Path process = Files.createDirectories(folder.resolve(Long.toString(pid)));
    Files.writeString(
        process.resolve("stat"),
        pid + " (sh) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 " + startTicks + " 99 100\n");
    Files.writeString(process.resolve("cgroup"), group + "\n");
  }
}
