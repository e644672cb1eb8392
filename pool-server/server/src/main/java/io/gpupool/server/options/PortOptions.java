// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.options;

import java.net.InetAddress;

/**
 * The ports and sockets of a pool server.
 *
 * @param listen the address of both ports
 * @param control the port for gRPC; 0 takes a free one
 * @param data the port for call streams; 0 takes a free one
 * @param local the socket for call streams of this machine
 */
public record PortOptions(InetAddress listen, int control, int data, LocalSocketOptions local) {
  public static final int CONTROL = 7642;
  public static final int DATA = 7641;

  public PortOptions {
    check(control);
    check(data);
  }

  /** Refuses a number that is not a port; 0 takes a free one. */
  public static void check(int port) {
    if (port < 0 || port > 65535) {
      throw new IllegalArgumentException("port " + port + " is not one; give 0 to 65535");
    }
  }
}
