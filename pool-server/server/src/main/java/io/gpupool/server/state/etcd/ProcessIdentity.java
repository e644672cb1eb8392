// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import io.gpupool.runtime.ProcessStart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

/**
 * The identity of a server's process, recorded next to the server's name. With it, a restarted
 * server need not wait until etcd has given up its predecessor.
 *
 * @param boot of the machine
 * @param namespace of the process id
 * @param started when the process started, as the kernel counts
 * @param run random, so that no two are alike
 */
record ProcessIdentity(String boot, String namespace, long pid, String started, String run) {
  static ProcessIdentity ofThisProcess() {
    long pid = ProcessHandle.current().pid();
    return new ProcessIdentity(
        bootId(), namespaceOfPids(), pid, startOf(pid), UUID.randomUUID().toString());
  }

  String text() {
    return String.join(" ", boot, namespace, Long.toString(pid), started, run);
  }

  /** Whether this is a process of this machine that has ended; false if that cannot be told. */
  static boolean hasEnded(String text, ProcessIdentity self) {
    String[] parts = text.split(" ");
    if (parts.length != 5
        || self.boot.isEmpty()
        || !parts[0].equals(self.boot)
        || !parts[1].equals(self.namespace)) {
      return false;
    }
    try {
      return !startOf(Long.parseLong(parts[2])).equals(parts[3]);
    } catch (NumberFormatException e) {
      return false;
    }
  }

  private static String bootId() {
    try {
      return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
    } catch (IOException e) {
      return "";
    }
  }

  private static String namespaceOfPids() {
    try {
      return Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
    } catch (IOException e) {
      return "?";
    }
  }

  /** {@code none} if there is no such process. */
  private static String startOf(long pid) {
    return ProcessStart.of(pid).map(ProcessStart::started).orElse("none");
  }
}
