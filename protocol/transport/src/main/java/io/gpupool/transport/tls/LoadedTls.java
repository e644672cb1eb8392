// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * The content of TLS files at the time they were read. Immutable, but for the sessions of the
 * context.
 */
record LoadedTls(SSLContext context, @Nullable X509Certificate certificate) {
  private static final char[] NO_PASSWORD = {};

  /** The places where systems keep the roots that they trust; the first that exists counts. */
  private static final List<String> SYSTEM_ROOTS =
      List.of("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt");

  static LoadedTls of(TlsFiles files) throws IOException {
    try {
      X509Certificate own = null;
      KeyManager[] keys = null;
      Path certificate = files.certificate();
      if (certificate != null) {
        Path keyFile = Objects.requireNonNull(files.key());
        List<X509Certificate> chain = PemFile.certificates(certificate);
        PrivateKey key = PemFile.privateKey(keyFile);
        requirePair(certificate.toString(), keyFile.toString(), chain.getFirst(), key);
        keys = keys(chain, key);
        own = chain.getFirst();
      }
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys, trusted(files), null);
      return new LoadedTls(context, own);
    } catch (GeneralSecurityException e) {
      throw new IOException("TLS cannot be set up: " + e.getMessage(), e);
    }
  }

  /** A server's, of a certificate and its key as PEM files would hold them. */
  static LoadedTls presenting(String source, String certificate, String keyText)
      throws IOException {
    try {
      List<X509Certificate> chain = PemFile.certificates(source, certificate);
      PrivateKey key = PemFile.privateKey(source, keyText);
      requirePair(source, source, chain.getFirst(), key);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys(chain, key), trusted(TlsFiles.NONE), null);
      return new LoadedTls(context, chain.getFirst());
    } catch (GeneralSecurityException e) {
      throw new IOException("TLS cannot be set up: " + e.getMessage(), e);
    }
  }

  private static KeyManager[] keys(List<X509Certificate> chain, PrivateKey key)
      throws GeneralSecurityException, IOException {
    KeyStore store = empty();
    store.setKeyEntry("own", key, NO_PASSWORD, chain.toArray(X509Certificate[]::new));
    KeyManagerFactory factory = KeyManagerFactory.getInstance("PKIX");
    factory.init(store, NO_PASSWORD);
    return factory.getKeyManagers();
  }

  /** Returns the JDK's own roots where the system has none. */
  private static TrustManager[] trusted(TlsFiles files)
      throws GeneralSecurityException, IOException {
    Optional<Path> roots = Optional.ofNullable(files.trusted()).or(LoadedTls::system);
    TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
    if (roots.isEmpty()) {
      factory.init((KeyStore) null);
      return factory.getTrustManagers();
    }
    KeyStore store = empty();
    int number = 0;
    for (X509Certificate root : PemFile.certificates(roots.get())) {
      store.setCertificateEntry("root-" + number++, root);
    }
    factory.init(store);
    return factory.getTrustManagers();
  }

  private static Optional<Path> system() {
    return Stream.concat(
            Optional.ofNullable(System.getenv("SSL_CERT_FILE")).stream(), SYSTEM_ROOTS.stream())
        .map(Path::of)
        .filter(Files::isReadable)
        .findFirst();
  }

  private static KeyStore empty() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, NO_PASSWORD);
    return store;
  }

  /** A handshake that fails for every client would be the first to tell. */
  private static void requirePair(
      String source, String keySource, X509Certificate certificate, PrivateKey key)
      throws GeneralSecurityException, IOException {
    String algorithm =
        switch (key.getAlgorithm()) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          case "EdDSA" -> "EdDSA";
          default -> "";
        };
    if (algorithm.isEmpty()) {
      return;
    }
    byte[] text = {1, 2, 3};
    boolean matches = certificate.getPublicKey().getAlgorithm().equals(key.getAlgorithm());
    if (matches) {
      Signature signature = Signature.getInstance(algorithm);
      signature.initSign(key);
      signature.update(text);
      byte[] signed = signature.sign();
      signature.initVerify(certificate.getPublicKey());
      signature.update(text);
      matches = signature.verify(signed);
    }
    if (!matches) {
      throw new IOException(
          "the key in " + keySource + " is not that of the first certificate in " + source);
    }
  }
}
