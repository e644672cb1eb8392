// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The options for a pool's etcd: its members and how to speak to them.
 *
 * @param endpoints of its members
 * @param prefix under which the pool keeps its keys, with a slash at both ends
 * @param ca the certificates that sign those of its members; present: TLS is spoken
 * @param cert by which this server authenticates, if etcd asks for that
 * @param key of the certificate
 * @param ttlSeconds how long a server that is not heard of counts as alive
 */
public record EtcdOptions(
    List<Endpoint> endpoints,
    String prefix,
    @Nullable Path ca,
    @Nullable Path cert,
    @Nullable Path key,
    int ttlSeconds) {
  public static final String SCHEME = "etcd://";
  public static final int DEFAULT_TTL_SECONDS = 6;
  private static final int MIN_TTL_SECONDS = 3;
  private static final int MAX_TTL_SECONDS = 60;
  private static final int PORT = 2379;

  /** A member's address. */
  public record Endpoint(String host, int port) {
    @Override
    public String toString() {
      return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
  }

  public EtcdOptions {
    endpoints = List.copyOf(endpoints);
    if (endpoints.isEmpty()) {
      throw new IllegalArgumentException("--state etcd://: give at least one HOST[:PORT]");
    }
    if ((cert != null) != (key != null)) {
      throw new IllegalArgumentException("--etcd-cert and --etcd-key go together; give both");
    }
    if (cert != null && ca == null) {
      throw new IllegalArgumentException(
          "--etcd-cert takes TLS, so give the certificates of etcd's with --etcd-ca, too");
    }
    if (ttlSeconds < MIN_TTL_SECONDS || ttlSeconds > MAX_TTL_SECONDS) {
      throw new IllegalArgumentException(
          "--etcd-ttl "
              + ttlSeconds
              + ": give "
              + MIN_TTL_SECONDS
              + " to "
              + MAX_TTL_SECONDS
              + " seconds");
    }
  }

  /** Reads {@code etcd://HOST[:PORT],.../PREFIX}. */
  public static EtcdOptions parse(
      String url, @Nullable Path ca, @Nullable Path cert, @Nullable Path key, int ttlSeconds) {
    String rest = url.substring(SCHEME.length());
    int slash = rest.indexOf('/');
    String hosts = slash < 0 ? rest : rest.substring(0, slash);
    String path = slash < 0 ? "" : rest.substring(slash).replaceAll("^/+|/+$", "");
    List<Endpoint> endpoints = new ArrayList<>();
    for (String host : hosts.split(",")) {
      if (!host.isBlank()) {
        endpoints.add(endpoint(host.strip(), url));
      }
    }
    return new EtcdOptions(
        endpoints, "/" + (path.isEmpty() ? "gpupool" : path) + "/", ca, cert, key, ttlSeconds);
  }

  private static Endpoint endpoint(String text, String url) {
    int bracket = text.indexOf(']');
    int colon = text.lastIndexOf(':');
    boolean hasPort = colon > bracket && (bracket >= 0 || text.indexOf(':') == colon);
    String host = hasPort ? text.substring(0, colon) : text;
    try {
      int port = hasPort ? Integer.parseInt(text.substring(colon + 1)) : PORT;
      if (port > 0 && port < 65536 && !host.isEmpty()) {
        return new Endpoint(host.replaceAll("^\\[|\\]$", ""), port);
      }
    } catch (NumberFormatException e) {
      // Told below.
    }
    throw new IllegalArgumentException(
        "--state " + url + ": '" + text + "' is no HOST[:PORT]; give etcd://HOST:PORT,.../PREFIX");
  }

  /** Returns what distinguishes the state that is kept there from others. */
  public String identity() {
    return endpoints.stream().map(Endpoint::toString).sorted().toList() + prefix;
  }

  /** How messages name it. */
  @Override
  public String toString() {
    return String.join(",", endpoints.stream().map(Endpoint::toString).toList());
  }
}
