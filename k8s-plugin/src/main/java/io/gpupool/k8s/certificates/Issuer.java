// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

import java.io.IOException;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import javax.security.auth.x500.X500Principal;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.X509v3CertificateBuilder;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** An issuer of certificates with ECDSA keys on the curve P-256. For any thread. */
final class Issuer {
  /** The most by which the clock of a verifier may be slow. */
  static final Duration SKEW = Duration.ofMinutes(5);

  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int SERIAL_BITS = 127;

  private Issuer() {}

  /** Makes a certificate that signs itself and others. */
  static Credential root(String name, Instant now, Duration life) {
    return make(keys -> {
      X500Principal subject = name(name);
      X509v3CertificateBuilder certificate =
          new JcaX509v3CertificateBuilder(
              subject,
              serial(),
              date(now.minus(SKEW)),
              date(now.plus(life)),
              subject,
              keys.getPublic());
      JcaX509ExtensionUtils ids = new JcaX509ExtensionUtils();
      certificate.addExtension(Extension.basicConstraints, true, new BasicConstraints(0));
      certificate.addExtension(
          Extension.keyUsage, true, new KeyUsage(KeyUsage.keyCertSign | KeyUsage.cRLSign));
      certificate.addExtension(
          Extension.subjectKeyIdentifier, false, ids.createSubjectKeyIdentifier(keys.getPublic()));
      return sign(certificate, keys.getPrivate());
    });
  }

  /** Makes a certificate for a server with these names, which may also call others with it. */
  static Credential leaf(
      Credential root, String name, List<String> names, Instant now, Duration life) {
    Instant until = now.plus(life).isBefore(root.until()) ? now.plus(life) : root.until();
    return make(keys -> {
      X509v3CertificateBuilder certificate =
          new JcaX509v3CertificateBuilder(
              root.certificate(),
              serial(),
              date(now.minus(SKEW)),
              date(until),
              name(name),
              keys.getPublic());
      JcaX509ExtensionUtils ids = new JcaX509ExtensionUtils();
      certificate.addExtension(Extension.basicConstraints, true, new BasicConstraints(false));
      certificate.addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.digitalSignature));
      certificate.addExtension(
          Extension.extendedKeyUsage,
          false,
          new ExtendedKeyUsage(
              new KeyPurposeId[] {KeyPurposeId.id_kp_serverAuth, KeyPurposeId.id_kp_clientAuth}));
      certificate.addExtension(
          Extension.subjectAlternativeName,
          false,
          new GeneralNames(
              names.stream()
                  .map(dns -> new GeneralName(GeneralName.dNSName, dns))
                  .toArray(GeneralName[]::new)));
      certificate.addExtension(
          Extension.authorityKeyIdentifier,
          false,
          ids.createAuthorityKeyIdentifier(root.certificate()));
      return sign(certificate, root.key());
    });
  }

  private interface Maker {
    X509Certificate certificate(KeyPair keys)
        throws GeneralSecurityException, OperatorCreationException, IOException;
  }

  private static Credential make(Maker maker) {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
      generator.initialize(new ECGenParameterSpec("secp256r1"), RANDOM);
      KeyPair keys = generator.generateKeyPair();
      return new Credential(maker.certificate(keys), keys.getPrivate());
    } catch (GeneralSecurityException | OperatorCreationException | IOException e) {
      throw new IllegalStateException("this Java runtime makes no certificates", e);
    }
  }

  private static X509Certificate sign(X509v3CertificateBuilder certificate, PrivateKey key)
      throws GeneralSecurityException, OperatorCreationException {
    return new JcaX509CertificateConverter()
        .getCertificate(
            certificate.build(new JcaContentSignerBuilder("SHA256withECDSA").build(key)));
  }

  private static X500Principal name(String commonName) {
    return new X500Principal("O=gpupool,CN=\"" + commonName + "\"");
  }

  private static BigInteger serial() {
    return new BigInteger(SERIAL_BITS, RANDOM).add(BigInteger.ONE);
  }

  private static Date date(Instant moment) {
    return Date.from(moment);
  }
}
