// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateEncodingException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;

/** Certificates and keys as text (RFC 7468). */
final class Pem {
  private static final Base64.Encoder LINES =
      Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII));
  private static final String KEY = "PRIVATE KEY";

  private Pem() {}

  static String of(X509Certificate certificate) {
    try {
      return block("CERTIFICATE", certificate.getEncoded());
    } catch (CertificateEncodingException e) {
      throw new IllegalStateException("a certificate has no encoding", e);
    }
  }

  static String of(List<X509Certificate> certificates) {
    return certificates.stream().map(Pem::of).collect(Collectors.joining());
  }

  static String of(PrivateKey key) {
    return block(KEY, key.getEncoded());
  }

  /** Returns all certificates in the text, in order. */
  static List<X509Certificate> certificates(String text) throws GeneralSecurityException {
    return CertificateFactory.getInstance("X.509")
        .generateCertificates(new ByteArrayInputStream(text.getBytes(StandardCharsets.ISO_8859_1)))
        .stream()
        .map(X509Certificate.class::cast)
        .toList();
  }

  /** Returns the elliptic-curve key in the text. */
  static PrivateKey key(String text) throws GeneralSecurityException {
    String begin = "-----BEGIN " + KEY + "-----";
    int from = text.indexOf(begin);
    int until = text.indexOf("-----END " + KEY + "-----");
    if (from < 0 || until < from) {
      throw new GeneralSecurityException("there is no " + KEY + " in PEM form");
    }
    try {
      byte[] der = Base64.getMimeDecoder().decode(text.substring(from + begin.length(), until));
      return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(der));
    } catch (IllegalArgumentException e) {
      throw new GeneralSecurityException("the " + KEY + " is damaged", e);
    }
  }

  private static String block(String label, byte[] der) {
    return "-----BEGIN "
        + label
        + "-----\n"
        + LINES.encodeToString(der)
        + "\n-----END "
        + label
        + "-----\n";
  }
}
