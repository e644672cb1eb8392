// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

/**
 * Where a pool's control plane listens.
 *
 * @param host a name or an address without brackets
 * @param tls whether it is to be spoken to over TLS only
 */
public record PoolAddress(String host, int port, boolean tls) {
  public static final int DEFAULT_PORT = 7642;
  private static final String TLS = "tls://";
  private static final int MAX_HOST_LENGTH = 255;

  /** An address that does not ask for TLS. */
  public PoolAddress(String host, int port) {
    this(host, port, false);
  }

  /**
   * Reads {@code [tls://]HOST[:PORT]}; an IPv6 address with a port stands in brackets.
   *
   * @throws IllegalArgumentException if it is something else
   */
  public static PoolAddress parse(String text) {
    boolean tls = text.strip().startsWith(TLS);
    String host = tls ? text.strip().substring(TLS.length()) : text.strip();
    String port = Integer.toString(DEFAULT_PORT);
    int colon = host.lastIndexOf(':');
    if (host.startsWith("[") && host.contains("]")) {
      int end = host.indexOf(']');
      String rest = host.substring(end + 1);
      if (!rest.isEmpty()) {
        port = rest.startsWith(":") ? rest.substring(1) : "";
      }
      host = host.substring(1, end);
    } else if (colon >= 0 && host.indexOf(':') == colon) {
      port = host.substring(colon + 1);
      host = host.substring(0, colon);
    }
    try {
      int number = Integer.parseInt(port);
      if (number > 0 && number <= 65535 && isHost(host)) {
        return new PoolAddress(host, number, tls);
      }
    } catch (NumberFormatException e) {
      // told below
    }
    throw new IllegalArgumentException(
        "'" + text + "' is no address of a pool; give HOST, HOST:PORT, or tls://HOST[:PORT]");
  }

  /** The same place, over TLS. */
  PoolAddress overTls() {
    return new PoolAddress(host, port, true);
  }

  private static boolean isHost(String host) {
    return !host.isEmpty()
        && host.length() <= MAX_HOST_LENGTH
        && host.chars()
            .allMatch(c -> c < 128 && (Character.isLetterOrDigit(c) || "-._:%".indexOf(c) >= 0));
  }

  @Override
  public String toString() {
    return (tls ? TLS : "") + (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
  }
}
