// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.k8s.api.TestApiServer;
import io.gpupool.k8s.certificates.Release;
import io.gpupool.k8s.command.Child;
import io.gpupool.k8s.command.DocumentedMetrics;
import io.gpupool.k8s.command.Kubeconfig;
import io.gpupool.server.FreePort;
import io.gpupool.server.Pool;
import io.gpupool.transport.tls.TestAuthority;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsFiles;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Controllers in processes of their own, at an API server for tests and a real pool. */
class ControllerIT {
  private static final String WEBHOOK_HOST = "pool-webhook.gpus.svc";
  private static final String REVIEW =
      """
      {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": "CREATE",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "object": {"kind": "Pod", "metadata": {"name": "train"}, "spec": {"containers": [
          {"name": "main", "resources": {"limits": {"gpupool.io/gpu": "500m"}}}]}}}}
      """;

  @RegisterExtension private final TestApiServer apiServer = new TestApiServer();
  private final KubernetesClient client = apiServer.client();
  @TempDir private Path folder;
  private Release release;

  @BeforeEach
  void install() {
    apiServer.setVersion("1", "27+");
    release = new Release(client);
    client
        .resource(
            new NamespaceBuilder().withNewMetadata().withName("kube-system").endMetadata().build())
        .create();
  }

  private Child controller(int poolPort, int webhookPort, String name, String... more)
      throws IOException {
    Path kubeconfig = Kubeconfig.write(folder, apiServer.port());
    List<String> options =
        new ArrayList<>(
            List.of(
                "controller",
                "--pool=127.0.0.1:" + poolPort,
                "--name=" + Release.NAME,
                "--namespace=" + Release.NAMESPACE,
                "--webhook-port=" + webhookPort,
                "--health-port=0"));
    options.addAll(List.of(more));
    return new Child(
        folder,
        Map.of("KUBECONFIG", kubeconfig.toString(), "POD_NAME", name),
        options.toArray(String[]::new));
  }

  private String holder() {
    var spec =
        client.leases().inNamespace(Release.NAMESPACE).withName("pool-controller").get().getSpec();
    return spec == null || spec.getHolderIdentity() == null ? "" : spec.getHolderIdentity();
  }

  /** Sends the webhook a review as an API server does, by the roots that it was told. */
  private String review(int port) throws IOException {
    Path roots = folder.resolve("roots.pem");
    Files.writeString(roots, release.roots());
    TlsContext trusting = TlsContext.of(TlsFiles.trusting(roots));
    try (Socket below = new Socket("127.0.0.1", port);
        SSLSocket socket =
            (SSLSocket)
                trusting
                    .context()
                    .getSocketFactory()
                    .createSocket(below, WEBHOOK_HOST, port, true)) {
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      socket.setSSLParameters(parameters);
      byte[] body = REVIEW.getBytes(StandardCharsets.UTF_8);
      String head =
          "POST /mutate HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
              .formatted(WEBHOOK_HOST, body.length);
      socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      socket.getOutputStream().write(body);
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private void requireServed(int port) throws IOException {
    assertThat(review(port)).startsWith("HTTP/1.1 200 ").contains("\"allowed\":true", "patch");
  }

  @Test
  void controller_newRelease_makesWhatIsMissingAndServes() throws Exception {
    int webhook = FreePort.find();
    try (Pool pool = new Pool("soft:1", 0);
        Child child = controller(pool.server.controlPort(), webhook, "first")) {
      child.awaitReady();
      requireServed(webhook);
      assertThat(child.get("/healthz").statusCode()).isEqualTo(200);
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() ->
              client
                      .secrets()
                      .inNamespace(Release.NAMESPACE)
                      .withName("pool-leases")
                      .get()
                      .getData()
                  != null);
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> child.get("/metrics").body().contains("gpupool_k8s_pool_reached 1.0"));
      assertThat(child.get("/metrics").body())
          .contains("gpupool_k8s_leader 1.0")
          .contains("gpupool_k8s_admission_reviews_total{result=\"rewritten\"} 1.0")
          .contains("gpupool_k8s_admission_review_seconds_count 1")
          .contains("gpupool_k8s_webhook_certificate_end_seconds ")
          .contains("gpupool_k8s_api_requests_total{method=\"GET\",status=\"200\"}");
      DocumentedMetrics.require(child.get("/metrics").body());
      assertThat(child.terminate()).as(child.log()).isZero();
      assertThat(child.log()).doesNotContain(" ERROR ").doesNotContain("\tat ");
    }
  }

  @Test
  void controller_leaderKilled_theOtherTakesOverAndServedAllTheTime() throws Exception {
    int firstWebhook = FreePort.find();
    int secondWebhook = FreePort.find();
    try (Pool pool = new Pool("soft:1", 0);
        Child first = controller(pool.server.controlPort(), firstWebhook, "first")) {
      first.awaitReady();
      try (Child second = controller(pool.server.controlPort(), secondWebhook, "second")) {
        second.awaitReady();
        requireServed(secondWebhook);
        assertThat(holder()).startsWith("first-");
        assertThat(second.get("/metrics").body()).contains("gpupool_k8s_leader 0.0");
        first.kill();
        await().atMost(Duration.ofSeconds(60)).until(() -> holder().startsWith("second-"));
        await()
            .atMost(Duration.ofSeconds(30))
            .until(() -> second.get("/metrics").body().contains("gpupool_k8s_leader 1.0"));
        requireServed(secondWebhook);
      }
    }
  }

  @Test
  void controller_chartsObjectsMissing_saysSoAndGoesOnOnceTheyAreThere() throws Exception {
    client.leases().inNamespace(Release.NAMESPACE).withName("pool-controller").delete();
    try (Child child = controller(1, FreePort.find(), "first")) {
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> child.log().contains("there is no Lease gpus/pool-controller"));
      assertThat(child.get("/readyz").statusCode()).isEqualTo(503);
      assertThat(child.get("/readyz").body()).contains("no certificate for the webhook");
      assertThat(client.leases().inNamespace(Release.NAMESPACE).withName("pool-controller").get())
          .isNull();
      client
          .resource(
              new LeaseBuilder()
                  .withNewMetadata()
                  .withNamespace(Release.NAMESPACE)
                  .withName("pool-controller")
                  .endMetadata()
                  .withNewSpec()
                  .endSpec()
                  .build())
          .create();
      // Also without a pool.
      child.awaitReady();
      assertThat(child.log()).doesNotContain("\tat ");
    }
  }

  @Test
  void controller_certificatesOfSomebodyElse_servesWithThoseAndMakesNone() throws Exception {
    TestAuthority authority = new TestAuthority(folder.resolve("authority"));
    Path mounted = Files.createDirectories(folder.resolve("webhook-tls"));
    int webhook = FreePort.find();
    try (Child child =
        controller(1, webhook, "first", "--certificates=none", "--webhook-tls=" + mounted)) {
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> child.get("/readyz").body().contains("no certificate for the webhook"));
      TestAuthority.Issued issued = authority.issue("webhook", "DNS:" + WEBHOOK_HOST);
      Files.copy(issued.key(), mounted.resolve("tls.key"));
      Files.copy(issued.certificate(), mounted.resolve("tls.crt"));
      child.awaitReady();
      String roots = Files.readString(authority.root());
      client
          .configMaps()
          .inNamespace(Release.NAMESPACE)
          .withName("pool-ca")
          .edit(map -> new ConfigMapBuilder(map).addToData("ca.crt", roots).build());
      requireServed(webhook);
      assertThat(
              client.secrets().inNamespace(Release.NAMESPACE).withName("pool-ca").get().getData())
          .isNullOrEmpty();
    }
  }
}
