// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.security.GeneralSecurityException;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PSSParameterSpec;
import java.util.Arrays;
import java.util.Optional;

/**
 * The algorithms of RFC 7518, 8037 and 9864 by which tokens may be signed. Each takes keys of one
 * kind alone, so none can be verified with a key that is meant for another; those without a public
 * key ({@code none}, {@code HS256}) are not among them.
 */
enum Algorithm {
  RS256("RSA", "SHA256withRSA", null),
  RS384("RSA", "SHA384withRSA", null),
  RS512("RSA", "SHA512withRSA", null),
  PS256("RSA", "RSASSA-PSS", pss("SHA-256", MGF1ParameterSpec.SHA256, 32)),
  PS384("RSA", "RSASSA-PSS", pss("SHA-384", MGF1ParameterSpec.SHA384, 48)),
  PS512("RSA", "RSASSA-PSS", pss("SHA-512", MGF1ParameterSpec.SHA512, 64)),
  ES256("P-256", "SHA256withECDSAinP1363Format", null),
  ES384("P-384", "SHA384withECDSAinP1363Format", null),
  ES512("P-521", "SHA512withECDSAinP1363Format", null),
  EdDSA("Ed25519", "Ed25519", null),
  Ed25519("Ed25519", "Ed25519", null);

  private final String keyKind;
  private final String name;
  private final AlgorithmParameterSpec parameters;

  Algorithm(String keyKind, String name, AlgorithmParameterSpec parameters) {
    this.keyKind = keyKind;
    this.name = name;
    this.parameters = parameters;
  }

  static Optional<Algorithm> of(String name) {
    return Arrays.stream(values()).filter(each -> each.name().equals(name)).findFirst();
  }

  /** {@code RSA}, or the name of the curve. */
  String keyKind() {
    return keyKind;
  }

  boolean verifies(PublicKey key, byte[] signed, byte[] signature) {
    try {
      Signature verification = Signature.getInstance(name);
      if (parameters != null) {
        verification.setParameter(parameters);
      }
      verification.initVerify(key);
      verification.update(signed);
      return verification.verify(signature);
    } catch (GeneralSecurityException e) {
      return false;
    }
  }

  private static AlgorithmParameterSpec pss(String digest, MGF1ParameterSpec mask, int saltBytes) {
    return new PSSParameterSpec(digest, "MGF1", mask, saltBytes, PSSParameterSpec.TRAILER_FIELD_BC);
  }
}
