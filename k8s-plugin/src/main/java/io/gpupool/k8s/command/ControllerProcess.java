// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.k8s.admission.Admission.Outcome;
import io.gpupool.k8s.certificates.Lifetimes;
import io.gpupool.k8s.controller.ControllerStats;
import io.gpupool.k8s.controller.LeaseController;
import io.gpupool.k8s.metrics.Counter;
import io.gpupool.k8s.metrics.Durations;
import io.gpupool.k8s.metrics.Gauge;
import io.gpupool.k8s.metrics.Meter;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/** A running controller, put together. Started and closed by any thread. */
final class ControllerProcess implements AutoCloseable {
  private static final Duration POOL_EVERY = Duration.ofSeconds(10);

  private final PoolMemory memory;
  private final Webhook webhook;
  private final Leadership leadership;
  private final HealthPort health;
  private volatile Optional<LeaderTasks> term = Optional.empty();

  /** What it is started with; see {@link ControllerCommand}. */
  record Setup(
      String release,
      String namespace,
      int webhookPort,
      int healthPort,
      Optional<String> cluster,
      Duration grace,
      Optional<Lifetimes> lifetimes,
      Path webhookTls,
      Optional<String> claims) {
    LeaderTasks.Plan plan() {
      return new LeaderTasks.Plan(release, namespace, lifetimes, cluster, grace, claims);
    }
  }

  private ControllerProcess(
      Setup setup,
      ApiServer api,
      KubernetesClient client,
      KubernetesClient election,
      PoolConnections pool)
      throws IOException {
    Counter reviews =
        new Counter(
            "gpupool_k8s_admission_reviews",
            "reviews of the webhook, by what became of the object",
            "result");
    Durations answers =
        new Durations("gpupool_k8s_admission_review_seconds", "time that a review took");
    memory = PoolMemory.ask(pool, POOL_EVERY);
    webhook =
        Webhook.start(
            setup.webhookPort(),
            client,
            setup.lifetimes().isPresent()
                ? new WebhookCertificate.InSecret(
                    client, setup.namespace(), setup.release() + "-webhook-tls")
                : new WebhookCertificate.InFolder(setup.webhookTls()),
            memory,
            (outcome, nanos) -> {
              reviews.count(label(outcome));
              answers.add(nanos);
            });
    leadership =
        Leadership.start(
            election,
            new ElectionLock(setup.namespace(), setup.release() + "-controller", identity()),
            () -> begin(LeaderTasks.begin(client, pool, setup.plan())));
    List<Meter> meters = new ArrayList<>(List.of(api.requests(), reviews, answers));
    meters.addAll(gauges());
    health = HealthPort.open(setup.healthPort(), Optional::empty, webhook::unready, meters);
  }

  /**
   * Starts whatever can be reached, and tries the rest again until it can.
   *
   * @param client not closed with it, nor are the others
   * @param election whose requests take no longer than {@link Leadership#REQUEST_MILLIS}
   * @throws IOException if a port is taken
   */
  static ControllerProcess start(
      Setup setup,
      ApiServer api,
      KubernetesClient client,
      KubernetesClient election,
      PoolConnections pool)
      throws IOException {
    return new ControllerProcess(setup, api, client, election, pool);
  }

  int healthPort() {
    return health.port();
  }

  private LeaderTasks begin(LeaderTasks begun) {
    term = Optional.of(begun);
    return begun;
  }

  private List<Meter> gauges() {
    return List.of(
        new Gauge(
            "gpupool_k8s_leader",
            "1 for the replica that makes certificates and leases, else 0",
            () -> OptionalDouble.of(leadership.isLeading() ? 1 : 0)),
        new Gauge(
            "gpupool_k8s_pods",
            "pods that ask for GPUs and have not ended; this and the next two at the leader alone",
            figure(ControllerStats::pods)),
        new Gauge(
            "gpupool_k8s_leases_waiting",
            "leases of pods that are asked for and not granted",
            figure(ControllerStats::waiting)),
        new Gauge(
            "gpupool_k8s_leases_held",
            "leases of pods that are held",
            figure(ControllerStats::granted)),
        new Gauge(
            "gpupool_k8s_pool_reached",
            "1 if the pool has answered the last time, else 0",
            () -> OptionalDouble.of(memory.isReached() ? 1 : 0)),
        new Gauge(
            "gpupool_k8s_webhook_certificate_end_seconds",
            "when the webhook's certificate is over, in seconds since 1970",
            webhook::certificateEnd));
  }

  private Supplier<OptionalDouble> figure(ToDoubleFunction<ControllerStats> of) {
    return () -> {
      Optional<ControllerStats> figures =
          leadership.isLeading()
              ? term.flatMap(LeaderTasks::leases).flatMap(LeaseController::figures)
              : Optional.empty();
      return figures.isPresent()
          ? OptionalDouble.of(of.applyAsDouble(figures.get()))
          : OptionalDouble.empty();
    };
  }

  private static String label(Outcome outcome) {
    return outcome.name().toLowerCase(Locale.ROOT);
  }

  /** The pod's name, and something that tells its container from the one before. */
  private static String identity() {
    return Environment.variable("POD_NAME")
            .or(() -> Environment.variable("HOSTNAME"))
            .orElse("controller")
        + "-"
        + UUID.randomUUID().toString().substring(0, 8);
  }

  /** Another replica is elected once everything has ended. */
  @Override
  public void close() {
    leadership.close();
    webhook.close();
    memory.close();
    health.close();
  }
}
