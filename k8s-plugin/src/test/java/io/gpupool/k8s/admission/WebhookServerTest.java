// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.gpupool.transport.tls.TestAuthority;
import io.gpupool.transport.tls.TlsContext;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.X509Certificate;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Over HTTPS, with certificates that openssl has made. */
@Timeout(60)
class WebhookServerTest {
  private static final JsonMapper JSON = new JsonMapper();
  private static final String POD =
      "{'kind':'Pod','metadata':{},'spec':{'containers':[{'name':'main','resources':{'limits':"
          + "{'gpupool.io/gpu':'500m'},'requests':{'gpupool.io/gpu':'500m'}}}]}}";

  @TempDir static Path folder;
  private static TestAuthority authority;
  private static TestAuthority.Issued live;
  private static TlsContext tls;
  private static WebhookServer server;

  @BeforeAll
  static void start() throws Exception {
    authority = new TestAuthority(folder.resolve("one"));
    live = new TestAuthority.Issued(folder.resolve("tls.crt"), folder.resolve("tls.key"));
    install("first");
    tls = TlsContext.following(TestAuthority.server(live, Optional.empty()));
    server =
        WebhookServer.start(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            tls,
            new Admission(new Settings(true, () -> OptionalLong.of(Manifest.GPU_MEMORY_BYTES))));
  }

  @AfterAll
  static void stop() {
    server.close();
    tls.close();
  }

  @Test
  void mutate_review_isAnswered() throws Exception {
    JsonNode review = Manifest.review("CREATE", JSON.readTree(POD.replace('\'', '"')), null);
    HttpResponse<String> answer =
        post("/mutate?timeout=10s", BodyPublishers.ofByteArray(JSON.writeValueAsBytes(review)));
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.headers().firstValue("Content-Type")).contains("application/json");
    JsonNode response = JSON.readTree(answer.body()).path("response");
    assertThat(response.path("allowed").booleanValue()).isTrue();
    assertThat(response.path("patch").textValue()).isNotEmpty();
  }

  @Test
  void mutate_noReview_is400WithTheReason() throws Exception {
    HttpResponse<String> noJson = post("/mutate", BodyPublishers.ofString("{"));
    assertThat(noJson.statusCode()).isEqualTo(400);
    assertThat(noJson.body()).contains("no JSON");
    HttpResponse<String> other =
        post("/mutate", BodyPublishers.ofString("{\"kind\":\"AdmissionReview\"}"));
    assertThat(other.statusCode()).isEqualTo(400);
    assertThat(other.body()).contains("no AdmissionReview of admission.k8s.io/v1");
  }

  @Test
  void mutate_bodyTooLong_is413() throws Exception {
    byte[] most = new byte[WebhookServer.MAX_BODY_BYTES];
    byte[] over = new byte[WebhookServer.MAX_BODY_BYTES + 1];
    assertThat(post("/mutate", BodyPublishers.ofByteArray(most)).statusCode()).isEqualTo(400);
    assertThat(post("/mutate", BodyPublishers.ofByteArray(over)).statusCode()).isEqualTo(413);
  }

  @Test
  void otherRequests_any_areToldWhatThereIs() throws Exception {
    assertThat(get("/healthz").body()).isEqualTo("ok\n");
    assertThat(get("/mutate").statusCode()).isEqualTo(405);
    assertThat(get("/mutate").headers().firstValue("Allow")).contains("POST");
    assertThat(get("/healthz/more").statusCode()).isEqualTo(404);
    assertThat(post("/healthz", BodyPublishers.noBody()).statusCode()).isEqualTo(405);
    HttpRequest text =
        request("/mutate")
            .POST(BodyPublishers.ofString("{}"))
            .header("Content-Type", "text/plain")
            .build();
    assertThat(send(text).statusCode()).isEqualTo(415);
  }

  @Test
  void certificate_replaced_isServedWithoutRestart() throws Exception {
    install("second");
    // The files are looked at every two seconds.
    while (!subject().equals("CN=second")) {
      Thread.sleep(100);
    }
    assertThat(get("/healthz").statusCode()).isEqualTo(200);
  }

  private static String subject() throws Exception {
    X509Certificate certificate =
        (X509Certificate) get("/healthz").sslSession().orElseThrow().getPeerCertificates()[0];
    return certificate.getSubjectX500Principal().getName();
  }

  private static void install(String name) throws Exception {
    TestAuthority.Issued issued = authority.issue(name, "IP:127.0.0.1");
    Files.copy(issued.key(), live.key(), StandardCopyOption.REPLACE_EXISTING);
    Files.copy(issued.certificate(), live.certificate(), StandardCopyOption.REPLACE_EXISTING);
  }

  private static HttpResponse<String> post(String path, BodyPublisher body) throws Exception {
    return send(request(path).POST(body).header("Content-Type", "application/json").build());
  }

  private static HttpResponse<String> get(String path) throws Exception {
    return send(request(path).GET().build());
  }

  private static HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + server.port() + path))
        .version(HttpClient.Version.HTTP_1_1);
  }

  private static HttpResponse<String> send(HttpRequest request) throws Exception {
    try (TlsContext trust = TlsContext.of(authority.client());
        HttpClient client = HttpClient.newBuilder().sslContext(trust.context()).build()) {
      return client.send(request, BodyHandlers.ofString());
    }
  }
}
