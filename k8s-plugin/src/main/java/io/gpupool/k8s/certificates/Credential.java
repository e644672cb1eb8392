// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A certificate and its private key. */
record Credential(X509Certificate certificate, PrivateKey key) {
  /** Parses a certificate and its key; empty if the texts are not, or no longer, such a pair. */
  static Optional<Credential> parse(@Nullable String certificate, @Nullable String key) {
    if (certificate == null || key == null) {
      return Optional.empty();
    }
    try {
      List<X509Certificate> certificates = Pem.certificates(certificate);
      if (certificates.isEmpty()) {
        return Optional.empty();
      }
      Credential read = new Credential(certificates.getFirst(), Pem.key(key));
      return read.isPair() ? Optional.of(read) : Optional.empty();
    } catch (GeneralSecurityException e) {
      return Optional.empty();
    }
  }

  Instant until() {
    return certificate.getNotAfter().toInstant();
  }

  boolean isOver(Instant now) {
    return !now.isBefore(until());
  }

  /** Returns whether two thirds of its life are over, after which it is replaced. */
  boolean isDue(Instant now) {
    Instant from = certificate.getNotBefore().toInstant();
    return !now.isBefore(from.plus(Duration.between(from, until()).multipliedBy(2).dividedBy(3)));
  }

  /** Returns whether it was signed with this key. */
  boolean isSignedBy(PublicKey issuer) {
    try {
      certificate.verify(issuer);
      return true;
    } catch (GeneralSecurityException e) {
      return false;
    }
  }

  private boolean isPair() throws GeneralSecurityException {
    byte[] text = {1, 2, 3};
    Signature signature = Signature.getInstance("SHA256withECDSA");
    signature.initSign(key);
    signature.update(text);
    byte[] signed = signature.sign();
    signature.initVerify(certificate.getPublicKey());
    signature.update(text);
    return signature.verify(signed);
  }
}
