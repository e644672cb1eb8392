// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.http;

import com.sun.net.httpserver.Headers;
import io.gpupool.server.view.PoolReader;
import java.net.InetAddress;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * A check of the origin of requests. Where no token is needed, it keeps pages of other sites, open
 * in a browser that can reach this server, from using it.
 *
 * @param open whether anyone who can connect may do anything
 * @param loopback whether only this machine can connect
 */
public record OriginCheck(boolean open, boolean loopback) {
  private static final Pattern THIS_MACHINE =
      Pattern.compile("(localhost|127(\\.\\d{1,3}){3}|\\[::1])(:\\d{1,5})?");

  public static OriginCheck of(PoolReader pool, InetAddress address) {
    return new OriginCheck(!pool.needsTokens(), address.isLoopbackAddress());
  }

  /**
   * Looks at where a request comes from.
   *
   * @param changes whether it may change something
   */
  public void check(Headers headers, boolean changes) throws ProblemException {
    if (!open) {
      return;
    }
    String host = headers.getFirst("Host");
    if (loopback && (host == null || !THIS_MACHINE.matcher(lower(host)).matches())) {
      throw new ProblemException(
          421,
          "this server takes any caller of its own machine, and so answers to localhost only; ask"
              + " http://localhost:PORT");
    }
    String origin = headers.getFirst("Origin");
    if (changes && origin != null && !isSame(origin, host)) {
      throw new ProblemException(
          403,
          "a page of another site may not change this pool; open the page of this server, or start"
              + " the server with --auth tokens");
    }
  }

  private static boolean isSame(String origin, String host) {
    int authority = origin.indexOf("://");
    return host != null
        && authority > 0
        && lower(origin.substring(authority + 3)).equals(lower(host));
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }
}
