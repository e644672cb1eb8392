// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Locale;

/**
 * A signed token (RFC 7519 in the compact form of RFC 7515), taken apart; nothing in it is to be
 * believed before its signature has been verified.
 *
 * @param signed what the signature is of
 */
record Jwt(Claims header, Claims claims, byte[] signed, byte[] signature) {
  private static final int MAX_CHARACTERS = 8192;

  /** Whether it has the form of one: three parts, of which the first is an object's. */
  static boolean looksLike(String token) {
    int first = token.indexOf('.');
    return token.startsWith("ey") && first > 0 && token.indexOf('.', first + 1) > first + 1;
  }

  static Jwt parse(String token) throws LoginException {
    String[] parts = token.split("\\.", -1);
    if (token.length() > MAX_CHARACTERS || parts.length != 3) {
      throw new LoginException("it is no signed token");
    }
    Claims header = claims(parts[0]);
    if (header.has("crit")) {
      throw new LoginException("it asks for extensions (crit) that are not known");
    }
    String type = header.text("typ").orElse("JWT").toLowerCase(Locale.ROOT);
    if (!type.replaceFirst("^application/", "").matches("jwt|at\\+jwt")) {
      throw new LoginException("it is of another kind (typ): " + plain(type));
    }
    return new Jwt(
        header,
        claims(parts[1]),
        (parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII),
        decode(parts[2]));
  }

  /** Text of a stranger, fit to be shown. */
  static String plain(String text) {
    String plain = text.replaceAll("[^\\x20-\\x7e]", "?");
    return "'" + (plain.length() > 64 ? plain.substring(0, 64) + "..." : plain) + "'";
  }

  private static Claims claims(String part) throws LoginException {
    return Claims.parse(new String(decode(part), StandardCharsets.UTF_8))
        .orElseThrow(() -> new LoginException("it is damaged"));
  }

  private static byte[] decode(String part) throws LoginException {
    try {
      return Base64.getUrlDecoder().decode(part);
    } catch (IllegalArgumentException e) {
      throw new LoginException("it is damaged");
    }
  }
}
