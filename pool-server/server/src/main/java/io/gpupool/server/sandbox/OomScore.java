// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The likelihood that the kernel kills this server and its workers when memory runs out. */
public final class OomScore {
  /** By so much a worker is more likely to be killed than a process that says nothing of itself. */
  private static final int WORKER = 300;

  private static final int SERVER = -500;
  private static final int MOST = 1000;
  private static final Path OWN = Path.of("/proc/self/oom_score_adj");

  private OomScore() {}

  /** Makes a server less likely to be killed than most, if it may; its workers are not. */
  public static void protectServer() {
    try {
      if (ServerPrivileges.own().root() && own() > SERVER) {
        Files.writeString(OWN, Integer.toString(SERVER));
      }
    } catch (IOException e) {
      // It takes a capability that a container may lack; the workers' score tells them apart, too.
    }
  }

  /** Of a worker: above the server's in any case. */
  static int ofWorker() throws IOException {
    return Math.min(MOST, Math.max(0, own()) + WORKER);
  }

  private static int own() throws IOException {
    return Integer.parseInt(Files.readString(OWN).strip());
  }
}
