// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TLS by files that may be replaced at any time (or by what a Secret has, in memory): connections
 * that begin afterwards use what the files hold then, without a restart; those that are open go on.
 * Files that cannot be used are told in the log, and what was read before stays in force. For any
 * thread; one of its own looks at the files.
 */
public final class TlsContext implements AutoCloseable {
  private static final long POLL_MILLIS = 2000;
  private static final Logger LOG = LoggerFactory.getLogger(TlsContext.class);

  private final TlsFiles files;
  private final long pollMillis;
  private final SSLContext context = new CurrentContext(() -> loaded().context());
  private volatile LoadedTls loaded;

  @GuardedBy("this")
  private byte[] digest;

  private @Nullable Thread watch;

  private TlsContext(TlsFiles files, long pollMillis) throws IOException {
    this.files = files;
    this.pollMillis = pollMillis;
    digest = digest();
    loaded = LoadedTls.of(files);
  }

  private TlsContext(LoadedTls presented) {
    files = TlsFiles.NONE;
    pollMillis = 0;
    digest = new byte[0];
    loaded = presented;
  }

  /**
   * Reads the files and from then on looks every two seconds whether they are others.
   *
   * @throws IOException if they cannot be used; the message is for people
   */
  public static TlsContext following(TlsFiles files) throws IOException {
    return following(files, POLL_MILLIS);
  }

  static TlsContext following(TlsFiles files, long pollMillis) throws IOException {
    TlsContext made = new TlsContext(files, pollMillis);
    made.watch = Thread.ofPlatform().daemon().name("gpupool-tls-files").start(made::watch);
    return made;
  }

  /** Reads the files once, for a process that ends soon. */
  public static TlsContext of(TlsFiles files) throws IOException {
    return new TlsContext(files, 0);
  }

  /**
   * A server's, whose certificate and key are in no files but in memory, until {@link #present} is
   * called.
   *
   * @param source whence they are, for messages
   * @param certificate PEM, followed by those that lead to its root
   * @param key PEM, PKCS#8
   * @throws IOException if they cannot be used; the message is for people
   */
  public static TlsContext presenting(String source, String certificate, String key)
      throws IOException {
    return new TlsContext(LoadedTls.presenting(source, certificate, key));
  }

  /** Has connections that begin from now on be shown another certificate. */
  public void present(String source, String certificate, String key) throws IOException {
    loaded = LoadedTls.presenting(source, certificate, key);
  }

  /** Returns the factory of connections, which follows the files. */
  public SSLContext context() {
    return context;
  }

  /** Returns whether the other side has to show a certificate. */
  public boolean asksForCertificates() {
    return files.trusted() != null;
  }

  /** Returns when the own certificate expires, if there is one. */
  public Optional<Instant> validUntil() {
    return Optional.ofNullable(loaded().certificate())
        .map(certificate -> certificate.getNotAfter().toInstant());
  }

  /** Returns the own certificate in a few words, if there is one. */
  public Optional<String> describe() {
    return Optional.ofNullable(loaded().certificate()).map(TlsContext::describe);
  }

  /** Stops watching the files; the context stays as it is. */
  @Override
  public void close() {
    if (watch != null) {
      watch.interrupt();
    }
  }

  private LoadedTls loaded() {
    return loaded;
  }

  private void watch() {
    try {
      while (true) {
        TimeUnit.MILLISECONDS.sleep(pollMillis);
        look();
      }
    } catch (InterruptedException e) {
      // closed
    }
  }

  /** Reads the files again if they are others than before. */
  synchronized void look() {
    byte[] now;
    try {
      now = digest();
    } catch (IOException e) {
      // Being replaced, or gone; said once it is another than before.
      now = new byte[0];
    }
    if (Arrays.equals(now, digest)) {
      return;
    }
    try {
      LoadedTls fresh = LoadedTls.of(files);
      // What was read must be what was seen: certificate and key are replaced one after the other.
      digest = now;
      loaded = fresh;
      LOG.info("TLS files read anew: {}", describe().orElse("roots"));
    } catch (IOException | RuntimeException e) {
      digest = now;
      LOG.error("the new TLS files cannot be used, the old ones stay: {}", e.getMessage());
    }
  }

  private byte[] digest() throws IOException {
    try {
      MessageDigest sum = MessageDigest.getInstance("SHA-256");
      for (Path file : files.all().toList()) {
        byte[] bytes = Files.exists(file) ? Files.readAllBytes(file) : new byte[0];
        sum.update(Integer.toString(bytes.length).getBytes(StandardCharsets.US_ASCII));
        sum.update(bytes);
      }
      return sum.digest();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String describe(X509Certificate certificate) {
    return "certificate of "
        + certificate.getSubjectX500Principal().getName()
        + ", valid until "
        + certificate.getNotAfter().toInstant();
  }
}
