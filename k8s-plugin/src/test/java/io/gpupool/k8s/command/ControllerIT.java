// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.VersionInfo;
import io.fabric8.kubernetes.client.server.mock.EnableKubernetesMockClient;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.gpupool.k8s.certificates.Release;
import io.gpupool.server.Pool;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsFiles;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Controllers in processes of their own, at an API server for tests and a real pool. */
@EnableKubernetesMockClient(crud = true, https = false)
class ControllerIT {
  private static final String WEBHOOK_HOST = "pool-webhook.gpus.svc";

  private KubernetesMockServer server;
  private KubernetesClient client;
  @TempDir private Path folder;
  private Release release;

  @BeforeEach
  void install() {
    server.setVersionInfo(new VersionInfo.Builder().withMajor("1").withMinor("27+").build());
    release = new Release(client);
    client
        .resource(
            new NamespaceBuilder().withNewMetadata().withName("kube-system").endMetadata().build())
        .create();
  }

  private Child controller(int poolPort, int webhookPort, String name) throws IOException {
    Path kubeconfig = Kubeconfig.write(folder, server.getPort());
    return new Child(
        folder,
        Map.of("KUBECONFIG", kubeconfig.toString(), "POD_NAME", name),
        "controller",
        "--pool=127.0.0.1:" + poolPort,
        "--name=" + Release.NAME,
        "--namespace=" + Release.NAMESPACE,
        "--webhook-port=" + webhookPort,
        "--health-port=0");
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  private String holder() {
    var spec =
        client.leases().inNamespace(Release.NAMESPACE).withName("pool-controller").get().getSpec();
    return spec == null || spec.getHolderIdentity() == null ? "" : spec.getHolderIdentity();
  }

  /** Speaks TLS with the webhook as an API server does, by the roots that it was told. */
  private void requireTrusted(int port) throws IOException {
    Path roots = folder.resolve("roots.pem");
    Files.writeString(roots, release.roots());
    TlsContext trusting =
        TlsContext.of(new TlsFiles(Optional.empty(), Optional.empty(), Optional.of(roots)));
    try (SSLSocket socket =
        (SSLSocket) trusting.context().getSocketFactory().createSocket("127.0.0.1", port)) {
      socket.startHandshake();
      assertThat(socket.getSession().getPeerCertificates()[0].toString()).contains(WEBHOOK_HOST);
    }
  }

  @Test
  void controller_newRelease_makesWhatIsMissingAndServes() throws Exception {
    int webhook = freePort();
    try (Pool pool = new Pool("soft:1", 0);
        Child child = controller(pool.server.controlPort(), webhook, "first")) {
      child.awaitReady();
      requireTrusted(webhook);
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
          .contains("gpupool_k8s_webhook_certificate_end_seconds ")
          .contains("gpupool_k8s_api_requests_total{method=\"GET\",status=\"200\"}");
      DocumentedMetrics.require(child.get("/metrics").body());
      assertThat(child.terminate()).as(child.log()).isZero();
      assertThat(child.log()).doesNotContain("ERROR").doesNotContain("Exception");
    }
  }

  @Test
  void controller_leaderKilled_theOtherTakesOverAndServedAllTheTime() throws Exception {
    int firstWebhook = freePort();
    int secondWebhook = freePort();
    try (Pool pool = new Pool("soft:1", 0);
        Child first = controller(pool.server.controlPort(), firstWebhook, "first")) {
      first.awaitReady();
      try (Child second = controller(pool.server.controlPort(), secondWebhook, "second")) {
        second.awaitReady();
        requireTrusted(secondWebhook);
        assertThat(holder()).startsWith("first-");
        assertThat(second.get("/metrics").body()).contains("gpupool_k8s_leader 0.0");
        first.kill();
        await().atMost(Duration.ofSeconds(40)).until(() -> holder().startsWith("second-"));
        await()
            .atMost(Duration.ofSeconds(5))
            .until(() -> second.get("/metrics").body().contains("gpupool_k8s_leader 1.0"));
        requireTrusted(secondWebhook);
      }
    }
  }

  @Test
  void controller_chartsObjectsMissing_saysSoAndGoesOnOnceTheyAreThere() throws Exception {
    client.leases().inNamespace(Release.NAMESPACE).withName("pool-controller").delete();
    try (Child child = controller(1, freePort(), "first")) {
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
}
