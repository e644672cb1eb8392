// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.VersionInfo;
import io.gpupool.k8s.admission.Admission;
import io.gpupool.k8s.admission.Admission.Reviews;
import io.gpupool.k8s.admission.Settings;
import io.gpupool.k8s.admission.WebhookServer;
import io.gpupool.k8s.api.Failures;
import io.gpupool.runtime.BackgroundThread;
import io.gpupool.transport.tls.TlsContext;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The webhook of a controller, served as soon as there is a certificate for it. It has its own
 * thread; for any thread.
 */
final class Webhook implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Webhook.class);
  private static final long LOOK_MILLIS = 1000;
  private static final int MAJOR = 1;
  private static final int MINOR_WITH_GATES = 27;

  private final int port;
  private final KubernetesClient client;
  private final WebhookCertificate certificate;
  private final Supplier<OptionalLong> gpuMemoryBytes;
  private final Reviews reviews;
  private final BackgroundThread thread;
  private volatile @Nullable TlsContext tls;
  private volatile @Nullable WebhookServer server;
  private volatile String waitsFor = "the webhook is being started";

  private Webhook(
      int port,
      KubernetesClient client,
      WebhookCertificate certificate,
      Supplier<OptionalLong> gpuMemoryBytes,
      Reviews reviews) {
    this.port = port;
    this.client = client;
    this.certificate = certificate;
    this.gpuMemoryBytes = gpuMemoryBytes;
    this.reviews = reviews;
    thread = new BackgroundThread(Thread.ofVirtual().name("webhook"), this::run);
  }

  /**
   * Starts to wait for the certificate.
   *
   * @param client to the API server, for its version; not closed with this
   */
  static Webhook start(
      int port,
      KubernetesClient client,
      WebhookCertificate certificate,
      Supplier<OptionalLong> gpuMemoryBytes,
      Reviews reviews) {
    Webhook webhook = new Webhook(port, client, certificate, gpuMemoryBytes, reviews);
    webhook.thread.start();
    return webhook;
  }

  /** Returns why the webhook does not serve at the moment; empty: it does. */
  Optional<String> unready() {
    if (server == null) {
      return Optional.of(waitsFor);
    }
    return Optional.ofNullable(tls)
        .flatMap(TlsContext::validUntil)
        .filter(until -> !Instant.now().isBefore(until))
        .map(until -> "the webhook's certificate has been over since " + until);
  }

  /** Returns the port, once it serves. */
  OptionalLong port() {
    WebhookServer open = server;
    return open == null ? OptionalLong.empty() : OptionalLong.of(open.port());
  }

  /** Returns when the certificate in use expires, in seconds since 1970. */
  OptionalDouble certificateEnd() {
    return Optional.ofNullable(tls)
        .flatMap(TlsContext::validUntil)
        .map(until -> OptionalDouble.of(until.getEpochSecond()))
        .orElseGet(OptionalDouble::empty);
  }

  private void run() {
    try {
      boolean gates = awaitVersion();
      while (true) {
        look(gates);
        Thread.sleep(server == null ? LOOK_MILLIS : certificate.lookEvery().toMillis());
      }
    } catch (InterruptedException e) {
      // Closed.
    }
  }

  private void look(boolean gates) {
    try {
      Optional<TlsContext> current = certificate.look();
      if (current.isPresent() && server == null) {
        tls = current.get();
        WebhookServer started =
            WebhookServer.start(
                new InetSocketAddress(port),
                current.get(),
                new Admission(new Settings(gates, gpuMemoryBytes), reviews));
        server = started;
        LOG.info(
            "the webhook serves at port {} with a {}",
            started.port(),
            current.get().describe().orElse("certificate"));
      } else if (current.isEmpty()) {
        waitFor(certificate + " has no certificate for the webhook (yet)");
      }
    } catch (IOException | RuntimeException e) {
      waitFor("the webhook cannot be served: " + Failures.reason(e));
    }
  }

  private boolean awaitVersion() throws InterruptedException {
    while (true) {
      try {
        VersionInfo version = client.getKubernetesVersion();
        if (version.getMajor() == null || version.getMinor() == null) {
          throw new IllegalStateException("its answer has none");
        }
        boolean gates = hasGates(version.getMajor(), version.getMinor());
        LOG.info(
            "the cluster has Kubernetes {}.{}, {} scheduling gates",
            version.getMajor(),
            version.getMinor(),
            gates ? "with" : "without");
        return gates;
      } catch (RuntimeException e) {
        waitFor("the API server does not tell its version: " + Failures.reason(e));
        Thread.sleep(LOOK_MILLIS);
      }
    }
  }

  /** Returns whether that version has scheduling gates; some clusters write "27+". */
  static boolean hasGates(String major, String minor) {
    int first = number(major);
    return first > MAJOR || first == MAJOR && number(minor) >= MINOR_WITH_GATES;
  }

  private static int number(String text) {
    String digits = text.replaceAll("\\D.*", "");
    return digits.isEmpty() ? 0 : Integer.parseInt(digits);
  }

  private void waitFor(String reason) {
    if (!reason.equals(waitsFor) && !Thread.currentThread().isInterrupted()) {
      waitsFor = reason;
      LOG.info(reason);
    }
  }

  @Override
  public void close() {
    thread.close();
    if (server != null) {
      server.close();
    }
    if (tls != null) {
      tls.close();
    }
  }
}
