// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The privileges of this process, as the kernel reports them.
 *
 * @param root whether its user is root
 * @param capabilities the effective ones, a bit each
 */
record ServerPrivileges(boolean root, long capabilities) {
  /** What a server needs whose workers are other users. */
  private static final Map<String, Integer> FOR_OTHER_USERS = new LinkedHashMap<>();

  static {
    FOR_OTHER_USERS.put("CAP_KILL", 5);
    FOR_OTHER_USERS.put("CAP_SETGID", 6);
    FOR_OTHER_USERS.put("CAP_SETUID", 7);
    // It takes descriptors of memory that workers share.
    FOR_OTHER_USERS.put("CAP_SYS_PTRACE", 19);
  }

  static ServerPrivileges own() throws IOException {
    List<String> status = Files.readAllLines(Path.of("/proc/self/status"));
    return new ServerPrivileges(
        field(status, "Uid:").split("\\s+")[1].equals("0"),
        Long.parseUnsignedLong(field(status, "CapEff:"), 16));
  }

  /** Capabilities that are missing for workers of other users. */
  List<String> missingForOtherUsers() {
    return FOR_OTHER_USERS.entrySet().stream()
        .filter(entry -> (capabilities >> entry.getValue() & 1) == 0)
        .map(Map.Entry::getKey)
        .toList();
  }

  private static String field(List<String> status, String name) throws IOException {
    return status.stream()
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(name.length()).strip())
        .findFirst()
        .orElseThrow(() -> new IOException("/proc/self/status has no " + name));
  }
}
