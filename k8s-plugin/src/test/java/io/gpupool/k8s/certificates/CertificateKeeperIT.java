// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.gpupool.k8s.api.TestApiServer;
import java.security.GeneralSecurityException;
import java.security.cert.CertPathValidator;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class CertificateKeeperIT {
  private static final Lifetimes SHORT =
      new Lifetimes(Duration.ofDays(100), Duration.ofDays(9), Duration.ofDays(2));

  @RegisterExtension private final TestApiServer apiServer = new TestApiServer();
  private final KubernetesClient client = apiServer.client();
  private Instant now = Instant.parse("2026-11-22T00:00:00Z");
  private Release release;

  @BeforeEach
  void install() {
    release = new Release(client);
  }

  private CertificateKeeper keeper() {
    return new CertificateKeeper(client, Release.NAME, Release.NAMESPACE, SHORT, clock());
  }

  private Clock clock() {
    return new Clock() {
      @Override
      public ZoneOffset getZone() {
        return ZoneOffset.UTC;
      }

      @Override
      public Clock withZone(ZoneId zone) {
        return this;
      }

      @Override
      public Instant instant() {
        return now;
      }
    };
  }

  /** What clients trust and what servers show at a moment. */
  private record Seen(List<String> trusted, List<X509Certificate> shown) {}

  private Seen look() throws GeneralSecurityException {
    List<String> trusted = new ArrayList<>(release.bundles());
    trusted.add(release.roots());
    List<X509Certificate> shown = new ArrayList<>();
    for (String kind : List.of("webhook-tls", "server-tls")) {
      shown.add(ServedCertificate.read(release.secret(kind)).orElseThrow().certificate());
    }
    return new Seen(trusted, shown);
  }

  private void requireTrust(Seen client, Seen server) throws GeneralSecurityException {
    for (String roots : client.trusted()) {
      for (X509Certificate shown : server.shown()) {
        validate(roots, shown);
      }
    }
  }

  private void validate(String roots, X509Certificate shown) throws GeneralSecurityException {
    Set<TrustAnchor> anchors =
        Pem.certificates(roots).stream()
            .map(root -> new TrustAnchor(root, null))
            .collect(Collectors.toSet());
    PKIXParameters parameters = new PKIXParameters(anchors);
    parameters.setRevocationEnabled(false);
    parameters.setDate(Date.from(now));
    CertPathValidator.getInstance("PKIX")
        .validate(
            CertificateFactory.getInstance("X.509").generateCertPath(List.of(shown)), parameters);
  }

  @Test
  void keep_throughThreeRoots_whatIsShownIsAlwaysTrusted() throws Exception {
    Random random = new Random(20261122);
    CertificateKeeper keeper = keeper();
    keeper.keep();
    Seen before = look();
    Set<X509Certificate> roots = new HashSet<>();
    Set<X509Certificate> leaves = new HashSet<>();
    Instant end = now.plus(Duration.ofDays(330));
    while (now.isBefore(end)) {
      // Whoever reads files late has what there was at the last step.
      now = now.plus(Duration.ofHours(1 + random.nextInt(40)));
      requireTrust(before, before);
      keeper.keep();
      Seen after = look();
      requireTrust(after, after);
      requireTrust(before, after);
      requireTrust(after, before);
      roots.addAll(Pem.certificates(release.roots()));
      leaves.addAll(after.shown());
      before = after;
    }
    assertThat(roots).hasSizeBetween(4, 6);
    assertThat(leaves).hasSizeGreaterThan(2 * 330 / 9);
    assertThat(Pem.certificates(release.roots())).hasSizeLessThanOrEqualTo(3);
  }

  @Test
  void keep_nothingDue_writesNothing() throws Exception {
    CertificateKeeper keeper = keeper();
    keeper.keep();
    String authority = version("ca");
    String webhook = version("webhook-tls");
    now = now.plus(Duration.ofDays(5));
    keeper.keep();
    assertThat(version("ca")).isEqualTo(authority);
    assertThat(version("webhook-tls")).isEqualTo(webhook);
    now = now.plus(Duration.ofDays(2));
    keeper.keep();
    assertThat(version("ca")).isEqualTo(authority);
    assertThat(version("webhook-tls")).isNotEqualTo(webhook);
  }

  private String version(String kind) {
    return client
        .secrets()
        .inNamespace(Release.NAMESPACE)
        .withName(Release.NAME + "-" + kind)
        .get()
        .getMetadata()
        .getResourceVersion();
  }

  @Test
  void keep_manyAtOnce_oneAuthorityIsMadeAndAllComesFromIt() throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(6)) {
      List<Callable<Boolean>> keepers = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        keepers.add(() -> {
          try {
            keeper().keep();
            return true;
          } catch (KubernetesClientException e) {
            assertThat(e.getCode()).isEqualTo(409);
            return false;
          }
        });
      }
      for (Future<Boolean> ended : threads.invokeAll(keepers)) {
        ended.get();
      }
    }
    keeper().keep();
    assertThat(Pem.certificates(release.roots())).hasSize(1);
    Seen seen = look();
    requireTrust(seen, seen);
  }

  @Test
  void keep_writesFailOneAfterTheOther_goesOnFromThere() throws Exception {
    CertificateKeeper keeper = keeper();
    for (String path :
        List.of(
            "/api/v1/namespaces/gpus/secrets/pool-ca",
            "/api/v1/namespaces/gpus/configmaps/pool-ca",
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/pool",
            "/api/v1/namespaces/gpus/secrets/pool-webhook-tls",
            "/api/v1/namespaces/gpus/secrets/pool-server-tls")) {
      if (path.contains("webhookconfigurations")) {
        apiServer.expect().patch().withPath(path).andReturn(403, "{}").once();
      } else {
        apiServer.expect().put().withPath(path).andReturn(403, "{}").once();
      }
      assertThatThrownBy(keeper::keep).isInstanceOf(KubernetesClientException.class);
    }
    keeper.keep();
    Seen seen = look();
    requireTrust(seen, seen);
    assertThat(Pem.certificates(release.roots())).hasSize(1);
  }

  @Test
  void keep_rootsNotTold_nothingIsSignedWithTheNewOne() throws Exception {
    CertificateKeeper keeper = keeper();
    keeper.keep();
    now = now.plus(Duration.ofDays(70));
    for (int i = 0; i < 5; i++) {
      apiServer
          .expect()
          .put()
          .withPath("/api/v1/namespaces/gpus/configmaps/pool-ca")
          .andReturn(500, "{}")
          .once();
    }
    Instant end = now.plus(Duration.ofDays(4));
    Map<String, String> first = release.secret("ca");
    while (now.isBefore(end)) {
      try {
        keeper.keep();
      } catch (KubernetesClientException e) {
        assertThat(release.secret("ca").get("tls.crt")).isEqualTo(first.get("tls.crt"));
      }
      now = now.plus(Duration.ofHours(12));
    }
    assertThat(Pem.certificates(release.roots())).hasSize(2);
  }

  @Test
  void keep_objectGone_saysThatTheChartBringsItBack() {
    client.secrets().inNamespace(Release.NAMESPACE).withName("pool-ca").delete();
    assertThatThrownBy(keeper()::keep)
        .isInstanceOf(MissingObjectException.class)
        .hasMessageContaining("Secret gpus/pool-ca")
        .hasMessageContaining("helm upgrade");
  }

  @Test
  void keep_dataDamagedOrTakenAway_isMadeAnew() throws Exception {
    CertificateKeeper keeper = keeper();
    keeper.keep();
    client
        .secrets()
        .inNamespace(Release.NAMESPACE)
        .withName("pool-webhook-tls")
        .edit(secret -> {
          secret.getData().put("tls.key", secret.getData().get("tls.crt"));
          return secret;
        });
    client
        .secrets()
        .inNamespace(Release.NAMESPACE)
        .withName("pool-ca")
        .edit(secret -> {
          secret.setData(Map.of());
          return secret;
        });
    keeper.keep();
    Seen seen = look();
    requireTrust(seen, seen);
  }

  @Test
  void certificates_ofServers_areForEachServersNameAndForClients() throws Exception {
    keeper().keep();
    X509Certificate certificate =
        ServedCertificate.read(release.secret("server-tls")).orElseThrow().certificate();
    assertThat(ServedCertificate.names(new Credential(certificate, null)))
        .contains(
            "*.pool-server.gpus.svc",
            "*.pool-server.gpus.svc.cluster.local",
            "pool-server.gpus.svc",
            "pool-server");
    assertThat(certificate.getExtendedKeyUsage())
        .containsExactlyInAnyOrder("1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2");
    assertThat(certificate.getBasicConstraints()).isEqualTo(-1);
  }
}
