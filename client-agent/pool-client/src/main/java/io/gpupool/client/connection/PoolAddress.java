// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The address of a pool's control plane: that of a server, and those of others of the same pool.
 *
 * @param host a name or an address without brackets
 * @param tls whether it is to be spoken to over TLS only
 * @param others servers that are asked when the one before does not answer, each without others
 */
public record PoolAddress(String host, int port, boolean tls, List<PoolAddress> others) {
  public static final int DEFAULT_PORT = 7642;
  private static final String TLS = "tls://";
  private static final int MAX_HOST_LENGTH = 255;

  public PoolAddress {
    others = List.copyOf(others);
  }

  /** Names one server. */
  public PoolAddress(String host, int port, boolean tls) {
    this(host, port, tls, List.of());
  }

  /** An address that does not ask for TLS. */
  public PoolAddress(String host, int port) {
    this(host, port, false);
  }

  /**
   * Reads {@code [tls://]HOST[:PORT]}, or several with commas between; an IPv6 address with a port
   * stands in brackets.
   *
   * @throws IllegalArgumentException if it is something else
   */
  public static PoolAddress parse(String text) {
    List<PoolAddress> servers = Stream.of(text.split(",", -1)).map(PoolAddress::parseOne).toList();
    PoolAddress first = servers.getFirst();
    PoolAddress pool =
        new PoolAddress(first.host, first.port, first.tls, servers.subList(1, servers.size()));
    // One connection serves them all: none of them is spoken to with less than was asked for.
    return servers.stream().anyMatch(PoolAddress::tls) ? pool.overTls() : pool;
  }

  private static PoolAddress parseOne(String text) {
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

  /** Returns the same servers, over TLS. */
  public PoolAddress overTls() {
    return new PoolAddress(host, port, true, others.stream().map(PoolAddress::overTls).toList());
  }

  /** Each of the servers by itself, in the order in which they are asked. */
  public List<PoolAddress> servers() {
    List<PoolAddress> all = new ArrayList<>(List.of(new PoolAddress(host, port, tls)));
    all.addAll(others);
    return all;
  }

  /** Returns whether this is an address of the host; looks it up. */
  public boolean isAt(InetAddress address) {
    try {
      return List.of(InetAddress.getAllByName(host)).contains(address);
    } catch (UnknownHostException e) {
      return false;
    }
  }

  private static boolean isHost(String host) {
    return !host.isEmpty()
        && host.length() <= MAX_HOST_LENGTH
        && host.chars()
            .allMatch(c -> c < 128 && (Character.isLetterOrDigit(c) || "-._:%".indexOf(c) >= 0));
  }

  @Override
  public String toString() {
    String first =
        (tls ? TLS : "") + (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    return Stream.concat(Stream.of(first), others.stream().map(PoolAddress::toString))
        .collect(Collectors.joining(","));
  }
}
