// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** Ports for servers that are told theirs, or that come back on it. */
public final class FreePort {
  /** Below those that the system gives to connections. */
  private static final int FIRST = 20_000;

  private static final int LAST = 32_000;
  private static final int TRIES = 100;
  private static final Set<Integer> GIVEN = ConcurrentHashMap.newKeySet();

  private FreePort() {}

  /**
   * A port that is free and that no other test of this process is given, nor a connection by chance
   * while its server is dead.
   */
  public static int find() throws IOException {
    for (int i = 0; i < TRIES; i++) {
      int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);
      try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        if (GIVEN.add(port)) {
          return socket.getLocalPort();
        }
      } catch (BindException e) {
        // Another one.
      }
    }
    throw new IOException("no port is free");
  }
}
