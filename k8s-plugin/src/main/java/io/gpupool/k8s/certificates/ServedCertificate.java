// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

import java.security.cert.CertificateParsingException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A service's certificate, as its Secret holds it. */
final class ServedCertificate {
  private static final String CERTIFICATE = "tls.crt";
  private static final String KEY = "tls.key";
  private static final int DNS = 2;

  private ServedCertificate() {}

  /** Reads the certificate; empty if there is none, or none that can be used. */
  static Optional<Credential> read(Map<String, String> data) {
    return Credential.parse(data.get(CERTIFICATE), data.get(KEY));
  }

  static Map<String, String> data(Credential made) {
    return Map.of(CERTIFICATE, Pem.of(made.certificate()), KEY, Pem.of(made.key()));
  }

  static List<String> names(Credential credential) {
    try {
      Collection<List<?>> names = credential.certificate().getSubjectAlternativeNames();
      return names == null
          ? List.of()
          : names.stream()
              .filter(name -> name.getFirst().equals(DNS))
              .map(name -> (String) name.get(1))
              .toList();
    } catch (CertificateParsingException e) {
      return List.of();
    }
  }
}
