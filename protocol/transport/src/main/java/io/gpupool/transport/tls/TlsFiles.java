// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The PEM files of one side of TLS.
 *
 * @param certificate the own certificate, followed by those that lead to its root
 * @param key of the certificate, PKCS#8, not encrypted
 * @param trusted the roots of the other side's certificates; empty: a server asks for none, a
 *     client trusts the roots of its machine
 */
public record TlsFiles(Optional<Path> certificate, Optional<Path> key, Optional<Path> trusted) {
  /** None at all. */
  public static final TlsFiles NONE =
      new TlsFiles(Optional.empty(), Optional.empty(), Optional.empty());

  public TlsFiles {
    if (certificate.isPresent() != key.isPresent()) {
      throw new IllegalArgumentException(
          certificate.isPresent()
              ? "--tls-cert " + certificate.get() + " needs its key: give --tls-key FILE, too"
              : "--tls-key " + key.orElseThrow() + " needs its certificate: give --tls-cert FILE");
    }
  }

  public boolean areNone() {
    return all().findAny().isEmpty();
  }

  Stream<Path> all() {
    return Stream.of(certificate, key, trusted).flatMap(Optional::stream);
  }
}
