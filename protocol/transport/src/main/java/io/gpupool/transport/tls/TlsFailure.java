// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import io.netty.handler.ssl.NotSslRecordException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.util.Optional;
import javax.net.ssl.SSLException;

/**
 * A description, in words for people, of what went wrong between two sides that should speak TLS.
 */
public final class TlsFailure {
  private static final String NO_CERTIFICATE = "certificate_required";

  private TlsFailure() {}

  /** Returns whether the peer hung up, as a server with TLS does on a client without. */
  public static boolean isHangUp(String message) {
    return message.contains("Network closed") || message.contains("reset by peer");
  }

  /** Empty if it is about something else. */
  public static Optional<String> of(Throwable failure) {
    Optional<String> found = Optional.empty();
    for (Throwable at = failure; at != null; at = at.getCause()) {
      String message = String.valueOf(at.getMessage());
      if (at instanceof NotSslRecordException) {
        return Optional.of("it speaks no TLS; name the pool without tls:// if it need not");
      }
      if (at instanceof CertificateExpiredException) {
        return Optional.of("its certificate has expired: " + message);
      }
      if (at instanceof CertPathBuilderException) {
        return Optional.of(
            "its certificate comes from nobody who is trusted here; give the root with --tls-ca"
                + " (GPUPOOL_TLS_CA)");
      }
      if (at instanceof CertificateException && at.getCause() == null) {
        return Optional.of("its certificate is not for this name: " + message);
      }
      if (at instanceof SSLException) {
        found =
            Optional.of(
                message.contains(NO_CERTIFICATE) || message.contains("bad_certificate")
                    ? "it wants a certificate of its clients; give one with --tls-cert and --tls-key"
                        + " (GPUPOOL_TLS_CERT, GPUPOOL_TLS_KEY)"
                    : "TLS: " + message);
      }
    }
    return found;
  }
}
