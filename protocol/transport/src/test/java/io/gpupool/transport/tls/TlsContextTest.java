// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.X509Certificate;
import java.util.Optional;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TlsContextTest {
  private static final String NAME = "DNS:localhost";

  @TempDir static Path folder;
  private static TestAuthority authority;
  private static TestAuthority.Issued first;
  private static TestAuthority.Issued second;

  @BeforeAll
  static void issue() {
    authority = new TestAuthority(folder.resolve("authority"));
    first = authority.issue("first", NAME);
    second = authority.issue("second", NAME);
  }

  @Test
  void context_filesAreReplaced_nextConnectionsShowTheNewCertificate(@TempDir Path used)
      throws Exception {
    TestAuthority.Issued live =
        new TestAuthority.Issued(used.resolve("server.pem"), used.resolve("server.key"));
    replace(live, first);
    TlsContext server = TlsContext.of(TestAuthority.server(live, Optional.empty()));
    TlsContext client = TlsContext.of(authority.client());
    assertThat(shownBy(server, client)).isEqualTo("CN=first");

    Files.writeString(live.certificate(), "half a certificate");
    server.look();
    assertThat(shownBy(server, client)).as("a broken file").isEqualTo("CN=first");

    Files.copy(second.certificate(), live.certificate(), StandardCopyOption.REPLACE_EXISTING);
    server.look();
    assertThat(shownBy(server, client)).as("the key is another's still").isEqualTo("CN=first");

    replace(live, second);
    server.look();
    assertThat(shownBy(server, client)).isEqualTo("CN=second");
  }

  @Test
  void context_following_looksByItself(@TempDir Path used) throws Exception {
    TestAuthority.Issued live =
        new TestAuthority.Issued(used.resolve("server.pem"), used.resolve("server.key"));
    replace(live, first);
    try (TlsContext server =
        TlsContext.following(TestAuthority.server(live, Optional.empty()), 10)) {
      replace(live, second);
      await().untilAsserted(() -> assertThat(server.describe().orElseThrow()).contains("second"));
    }
  }

  @Test
  void context_clientHasNoCertificate_isNotLetIn() throws Exception {
    TlsContext server = TlsContext.of(TestAuthority.server(first, Optional.of(authority.root())));
    assertThat(server.asksForCertificates()).isTrue();
    TlsContext stranger = TlsContext.of(authority.client());
    // The server's alert, or that it has hung up already.
    assertThatThrownBy(() -> shownBy(server, stranger)).isInstanceOf(IOException.class);
    TlsContext known = TlsContext.of(TestAuthority.server(second, Optional.of(authority.root())));
    assertThat(shownBy(server, known)).isEqualTo("CN=first");
  }

  @Test
  void context_keyOfAnotherCertificate_isRefused() {
    assertThatThrownBy(() ->
            TlsContext.of(
                TestAuthority.server(
                    new TestAuthority.Issued(first.certificate(), second.key()), Optional.empty())))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("second.key is not that of the first certificate");
  }

  @Test
  void context_filesOfOtherForms_areToldApart(@TempDir Path used) throws Exception {
    Path old = authority.root().resolveSibling("old.key");
    authority.openssl("ec", "-in", "first.key", "-out", "old.key");
    assertThatThrownBy(() -> PemFile.privateKey(old)).hasMessageContaining("openssl pkcs8 -topk8");
    Path text = Files.writeString(used.resolve("text"), "text");
    assertThatThrownBy(() -> PemFile.privateKey(text)).hasMessageContaining("no private key");
    assertThatThrownBy(() -> PemFile.certificates(text)).hasMessageContaining("no certificate");
    assertThatThrownBy(() -> PemFile.certificates(used.resolve("none")))
        .hasMessageContaining("there is no file");
    authority.openssl("genpkey", "-algorithm", "ed25519", "-out", "ed.key");
    assertThat(PemFile.privateKey(old.resolveSibling("ed.key")).getAlgorithm()).isEqualTo("EdDSA");
  }

  @Test
  void files_halfAPair_isRefused() {
    assertThatThrownBy(() -> new TlsFiles(first.certificate(), null, null))
        .hasMessageContaining("--tls-key");
  }

  private static void replace(TestAuthority.Issued live, TestAuthority.Issued by)
      throws IOException {
    Files.copy(by.certificate(), live.certificate(), StandardCopyOption.REPLACE_EXISTING);
    Files.copy(by.key(), live.key(), StandardCopyOption.REPLACE_EXISTING);
  }

  /** Connects, and returns whose certificate the server has shown. */
  private static String shownBy(TlsContext server, TlsContext client) throws Exception {
    try (SSLServerSocket listening =
        (SSLServerSocket)
            server
                .context()
                .getServerSocketFactory()
                .createServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      listening.setNeedClientAuth(server.asksForCertificates());
      Thread accepting =
          Thread.ofVirtual()
              .start(() -> {
                try (SSLSocket accepted = (SSLSocket) listening.accept()) {
                  accepted.getOutputStream().write(accepted.getInputStream().read());
                } catch (IOException e) {
                  // The client says what was wrong.
                }
              });
      try (SSLSocket socket =
          (SSLSocket)
              client
                  .context()
                  .getSocketFactory()
                  .createSocket("localhost", listening.getLocalPort())) {
        socket.setSSLParameters(TlsEngines.connecting(socket.getSSLParameters()));
        socket.getOutputStream().write(1);
        assertThat(socket.getInputStream().read()).isEqualTo(1);
        return ((X509Certificate) socket.getSession().getPeerCertificates()[0])
            .getSubjectX500Principal()
            .getName();
      } finally {
        accepting.join();
      }
    }
  }
}
