// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Certificates and private keys as they stand in PEM files (RFC 7468). */
final class PemFile {
  private static final Pattern BLOCK =
      Pattern.compile("-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \\1-----");
  private static final List<String> ALGORITHMS = List.of("EC", "RSA", "EdDSA", "RSASSA-PSS");

  private PemFile() {}

  /** Reads all certificates of the file, at least one. */
  static List<X509Certificate> certificates(Path file) throws IOException {
    return certificates(file.toString(), read(file));
  }

  /** Reads all certificates of the text, at least one; errors name its source. */
  static List<X509Certificate> certificates(String source, String text) throws IOException {
    List<X509Certificate> certificates = new ArrayList<>();
    for (byte[] der : blocks(text, "CERTIFICATE")) {
      certificates.add(certificate(source, der));
    }
    if (certificates.isEmpty()) {
      throw new IOException(
          source + " holds no certificate in PEM form ('-----BEGIN CERTIFICATE-----')");
    }
    return certificates;
  }

  /** The first private key in the file. */
  static PrivateKey privateKey(Path file) throws IOException {
    return privateKey(file.toString(), read(file));
  }

  /** The first private key in the text; errors name its source. */
  static PrivateKey privateKey(String source, String text) throws IOException {
    Optional<byte[]> der = blocks(text, "PRIVATE KEY").stream().findFirst();
    if (der.isEmpty()) {
      boolean other = text.contains("PRIVATE KEY-----");
      throw new IOException(
          source
              + (other
                  ? " holds a private key that is encrypted or not in PKCS#8 form; turn it into that:"
                      + " openssl pkcs8 -topk8 -nocrypt -in "
                      + source
                      + " -out server.key"
                  : " holds no private key in PEM form ('-----BEGIN PRIVATE KEY-----')"));
    }
    PKCS8EncodedKeySpec form = new PKCS8EncodedKeySpec(der.get());
    for (String algorithm : ALGORITHMS) {
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(form);
      } catch (GeneralSecurityException e) {
        // It is a key of another kind, or of none.
      }
    }
    throw new IOException(source + " holds a private key that is damaged or of an unknown kind");
  }

  private static X509Certificate certificate(String source, byte[] der) throws IOException {
    try {
      return (X509Certificate)
          CertificateFactory.getInstance("X.509")
              .generateCertificate(new ByteArrayInputStream(der));
    } catch (CertificateException e) {
      throw new IOException(source + " holds a damaged certificate: " + e.getMessage(), e);
    }
  }

  private static List<byte[]> blocks(String text, String label) throws IOException {
    List<byte[]> blocks = new ArrayList<>();
    Matcher block = BLOCK.matcher(text);
    while (block.find()) {
      if (block.group(1).equals(label)) {
        blocks.add(Base64.getMimeDecoder().decode(block.group(2)));
      }
    }
    return blocks;
  }

  private static String read(Path file) throws IOException {
    try {
      return Files.readString(file, StandardCharsets.ISO_8859_1);
    } catch (NoSuchFileException e) {
      throw new IOException("there is no file " + file, e);
    } catch (IOException e) {
      throw new IOException("cannot read " + file + " (" + e.getMessage() + ")", e);
    }
  }
}
