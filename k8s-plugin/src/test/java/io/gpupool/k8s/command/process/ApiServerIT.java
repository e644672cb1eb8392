// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.gpupool.transport.tls.TestAuthority;
import io.gpupool.transport.tls.TlsContext;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class ApiServerIT {
  private static final String ANSWER = "{\"major\": \"1\", \"minor\": \"31\"}";

  @TempDir private Path folder;
  private volatile int dead;
  private volatile int connections;

  /** Chooses HTTP/2 where it may, as API servers do. */
  private SSLServerSocket serve(TlsContext tls) throws IOException {
    SSLServerSocket server =
        (SSLServerSocket)
            tls.context()
                .getServerSocketFactory()
                .createServerSocket(0, 0, InetAddress.getLoopbackAddress());
    Thread.startVirtualThread(() -> {
      try {
        while (true) {
          SSLSocket connection = (SSLSocket) server.accept();
          int number = ++connections;
          connection.setHandshakeApplicationProtocolSelector(
              (socket, offered) -> offered.contains("h2") ? "h2" : "");
          Thread.startVirtualThread(() -> answer(connection, number));
        }
      } catch (IOException e) {
        // Closed.
      }
    });
    return server;
  }

  private void answer(SSLSocket connection, int number) {
    try (connection) {
      BufferedReader requests =
          new BufferedReader(
              new InputStreamReader(connection.getInputStream(), StandardCharsets.US_ASCII));
      String line = requests.readLine();
      while (line != null) {
        if (line.isEmpty() && number > dead) {
          connection
              .getOutputStream()
              .write(
                  ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                          + ANSWER.length()
                          + "\r\n\r\n"
                          + ANSWER)
                      .getBytes(StandardCharsets.US_ASCII));
        }
        line = requests.readLine();
      }
    } catch (IOException e) {
      // Its client has gone.
    }
  }

  @Test
  void connection_isDeadAndNobodySaysSo_theNextRequestTakesAnother() throws Exception {
    TestAuthority authority = new TestAuthority(folder);
    TlsContext tls =
        TlsContext.of(
            TestAuthority.server(authority.issue("api", "IP:127.0.0.1"), Optional.empty()));
    try (SSLServerSocket server = serve(tls);
        KubernetesClient client =
            new ApiServer(new SimpleMeterRegistry())
                .client(
                    new ConfigBuilder(Config.empty())
                        .withMasterUrl("https://127.0.0.1:" + server.getLocalPort())
                        .withTrustCerts(true)
                        .build(),
                    5000,
                    0)) {
      assertThat(client.getKubernetesVersion().getMinor()).isEqualTo("31");
      dead = connections;
      assertThatThrownBy(client::getKubernetesVersion)
          .isInstanceOf(KubernetesClientException.class);
      assertThat(client.getKubernetesVersion().getMinor()).isEqualTo("31");
      assertThat(connections).isEqualTo(dead + 1);
    } finally {
      tls.close();
    }
  }
}
