// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import static org.jose4j.jwa.AlgorithmConstraints.ConstraintType.PERMIT;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jose4j.jwa.AlgorithmConstraints;
import org.jose4j.jwk.JsonWebKey;
import org.jose4j.jws.AlgorithmIdentifiers;
import org.jose4j.jws.EcdsaUsingShaAlgorithm;
import org.jose4j.jws.EdDsaAlgorithm;
import org.jose4j.jws.JsonWebSignature;
import org.jose4j.jws.JsonWebSignatureAlgorithm;
import org.jose4j.lang.InvalidAlgorithmException;
import org.jose4j.lang.JoseException;

/**
 * A signed token (RFC 7519 in the compact form of RFC 7515). Nothing in it is to be believed before
 * {@link #isSignedBy} says so.
 */
record Jwt(
    Claims header, Claims claims, JsonWebSignature signature, JsonWebSignatureAlgorithm algorithm) {
  private static final int MAX_CHARACTERS = 8192;
  private static final Pattern FORM = Pattern.compile("[\\w-]+\\.[\\w-]+\\.[\\w-]*");

  /** Algorithms with a public key: {@code none} and secrets prove nothing here. */
  private static final AlgorithmConstraints ALGORITHMS =
      new AlgorithmConstraints(
          PERMIT,
          AlgorithmIdentifiers.RSA_USING_SHA256,
          AlgorithmIdentifiers.RSA_USING_SHA384,
          AlgorithmIdentifiers.RSA_USING_SHA512,
          AlgorithmIdentifiers.RSA_PSS_USING_SHA256,
          AlgorithmIdentifiers.RSA_PSS_USING_SHA384,
          AlgorithmIdentifiers.RSA_PSS_USING_SHA512,
          AlgorithmIdentifiers.ECDSA_USING_P256_CURVE_AND_SHA256,
          AlgorithmIdentifiers.ECDSA_USING_P384_CURVE_AND_SHA384,
          AlgorithmIdentifiers.ECDSA_USING_P521_CURVE_AND_SHA512,
          AlgorithmIdentifiers.EDDSA,
          Ed25519Algorithm.NAME);

  static {
    Ed25519Algorithm.register();
  }

  /** Whether it has the form of one: three parts, of which the first is an object's. */
  static boolean looksLike(String token) {
    int first = token.indexOf('.');
    return token.startsWith("ey") && first > 0 && token.indexOf('.', first + 1) > first + 1;
  }

  /**
   * Takes a token apart.
   *
   * @throws TokenRejectedException if it is damaged, of another kind, or signed by an algorithm
   *     that is not accepted
   */
  static Jwt parse(String token) throws TokenRejectedException {
    if (token.length() > MAX_CHARACTERS || token.split("\\.", -1).length != 3) {
      throw new TokenRejectedException("it is no signed token");
    }
    if (!FORM.matcher(token).matches()) {
      throw new TokenRejectedException("it is damaged");
    }
    JsonWebSignature signature = new JsonWebSignature();
    signature.setAlgorithmConstraints(ALGORITHMS);
    try {
      signature.setCompactSerialization(token);
    } catch (JoseException e) {
      throw new TokenRejectedException("it is damaged");
    }
    Claims header = claims(signature.getHeaders().getFullHeaderAsJsonString());
    if (header.has("crit")) {
      throw new TokenRejectedException("it asks for extensions (crit) that are not known");
    }
    String type = header.text("typ").orElse("JWT").toLowerCase(Locale.ROOT);
    if (!type.replaceFirst("^application/", "").matches("jwt|at\\+jwt")) {
      throw new TokenRejectedException("it is of another kind (typ): " + plain(type));
    }
    return new Jwt(
        header, claims(signature.getUnverifiedPayload()), signature, algorithm(header, signature));
  }

  private static JsonWebSignatureAlgorithm algorithm(Claims header, JsonWebSignature signature)
      throws TokenRejectedException {
    String name = header.text("alg").orElse("");
    try {
      ALGORITHMS.checkConstraint(name);
      return signature.getAlgorithm();
    } catch (InvalidAlgorithmException e) {
      throw new TokenRejectedException("it is signed by " + plain(name) + ", which is not taken");
    }
  }

  /** The curve that the algorithm is for; empty: it uses none. */
  Optional<String> curve() {
    return switch (algorithm) {
      case EcdsaUsingShaAlgorithm ecdsa -> Optional.of(ecdsa.getCurveName());
      case EdDsaAlgorithm eddsa -> Optional.of(Ed25519Algorithm.NAME);
      default -> Optional.empty();
    };
  }

  /** Whether the signature is right and was made with the private half of this key. */
  boolean isSignedBy(JsonWebKey key) {
    signature.setKey(key.getKey());
    try {
      return signature.verifySignature();
    } catch (JoseException e) {
      return false;
    }
  }

  /** Text of a stranger, fit to be shown. */
  static String plain(String text) {
    String plain = text.replaceAll("[^\\x20-\\x7e]", "?");
    return "'" + (plain.length() > 64 ? plain.substring(0, 64) + "..." : plain) + "'";
  }

  private static Claims claims(String json) throws TokenRejectedException {
    return Claims.parse(json).orElseThrow(() -> new TokenRejectedException("it is damaged"));
  }
}
