// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import java.nio.file.Path;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The PEM files of one side of TLS.
 *
 * @param certificate the own certificate, followed by those that lead to its root
 * @param key of the certificate, PKCS#8, not encrypted
 * @param trusted the roots of the other side's certificates; null: a server asks for none, a client
 *     trusts the roots of its machine
 */
public record TlsFiles(@Nullable Path certificate, @Nullable Path key, @Nullable Path trusted) {
  /** None at all. */
  public static final TlsFiles NONE = new TlsFiles(null, null, null);

  public TlsFiles {
    if ((certificate == null) != (key == null)) {
      throw new IllegalArgumentException(
          certificate != null
              ? "--tls-cert " + certificate + " needs its key: give --tls-key FILE, too"
              : "--tls-key " + key + " needs its certificate: give --tls-cert FILE");
    }
  }

  /** Returns the files of a side that shows no certificate. */
  public static TlsFiles trusting(@Nullable Path roots) {
    return new TlsFiles(null, null, roots);
  }

  public boolean areNone() {
    return all().findAny().isEmpty();
  }

  Stream<Path> all() {
    return Stream.of(certificate, key, trusted).flatMap(Stream::ofNullable);
  }
}
