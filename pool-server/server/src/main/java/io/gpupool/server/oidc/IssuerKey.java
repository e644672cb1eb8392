// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.math.BigInteger;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPoint;
import java.security.spec.ECPublicKeySpec;
import java.security.spec.EdECPoint;
import java.security.spec.EdECPublicKeySpec;
import java.security.spec.NamedParameterSpec;
import java.security.spec.RSAPublicKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A key of an issuer (RFC 7517).
 *
 * @param kind {@code RSA}, or the name of the curve
 * @param algorithm the only one that it is for; empty: any of its kind
 */
record IssuerKey(String kind, Optional<String> id, Optional<String> algorithm, PublicKey key) {
  private static final int MIN_RSA_BITS = 2048;
  private static final Map<String, String> CURVES =
      Map.of("P-256", "secp256r1", "P-384", "secp384r1", "P-521", "secp521r1");

  /** Empty if it is not for signatures, too weak, damaged or of an unknown kind. */
  static Optional<IssuerKey> of(Claims jwk) {
    List<String> operations = jwk.texts("key_ops");
    if (!jwk.text("use").orElse("sig").equals("sig")
        || (jwk.has("key_ops") && !operations.contains("verify"))) {
      return Optional.empty();
    }
    try {
      return switch (jwk.text("kty").orElse("")) {
        case "RSA" -> Optional.of(made("RSA", jwk, rsa(jwk)));
        case "EC" -> Optional.of(made(need(jwk, "crv"), jwk, ec(jwk)));
        case "OKP" -> Optional.of(made(need(jwk, "crv"), jwk, ed25519(jwk)));
        default -> Optional.empty();
      };
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  boolean fits(Algorithm wanted) {
    return kind.equals(wanted.keyKind())
        && algorithm.filter(a -> !a.equals(wanted.name())).isEmpty();
  }

  private static IssuerKey made(String kind, Claims jwk, PublicKey key) {
    return new IssuerKey(kind, jwk.text("kid"), jwk.text("alg"), key);
  }

  private static PublicKey rsa(Claims jwk) throws GeneralSecurityException {
    BigInteger modulus = number(jwk, "n");
    if (modulus.bitLength() < MIN_RSA_BITS) {
      throw new GeneralSecurityException("an RSA key of " + modulus.bitLength() + " bits");
    }
    return KeyFactory.getInstance("RSA")
        .generatePublic(new RSAPublicKeySpec(modulus, number(jwk, "e")));
  }

  private static PublicKey ec(Claims jwk) throws GeneralSecurityException {
    String curve = CURVES.get(need(jwk, "crv"));
    if (curve == null) {
      throw new GeneralSecurityException("an unknown curve");
    }
    AlgorithmParameters parameters = AlgorithmParameters.getInstance("EC");
    parameters.init(new ECGenParameterSpec(curve));
    return KeyFactory.getInstance("EC")
        .generatePublic(
            new ECPublicKeySpec(
                new ECPoint(number(jwk, "x"), number(jwk, "y")),
                parameters.getParameterSpec(ECParameterSpec.class)));
  }

  /** The point is its y, little-endian, with a bit of x in the highest. */
  private static PublicKey ed25519(Claims jwk) throws GeneralSecurityException {
    byte[] point = Base64.getUrlDecoder().decode(need(jwk, "x"));
    if (!need(jwk, "crv").equals("Ed25519") || point.length != 32) {
      throw new GeneralSecurityException("an unknown curve");
    }
    boolean odd = point[31] < 0;
    byte[] y = new byte[32];
    for (int i = 0; i < y.length; i++) {
      y[i] = point[31 - i];
    }
    y[0] &= 0x7f;
    return KeyFactory.getInstance("Ed25519")
        .generatePublic(
            new EdECPublicKeySpec(
                NamedParameterSpec.ED25519, new EdECPoint(odd, new BigInteger(1, y))));
  }

  private static BigInteger number(Claims jwk, String name) {
    return new BigInteger(1, Base64.getUrlDecoder().decode(need(jwk, name)));
  }

  private static String need(Claims jwk, String name) {
    return jwk.text(name).orElseThrow(() -> new IllegalArgumentException("no " + name));
  }
}
