// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.k8s.admission.Admission.Outcome;
import io.gpupool.k8s.command.process.Environment;
import io.gpupool.k8s.command.process.HealthPort;
import io.gpupool.k8s.command.process.PoolConnections;
import io.gpupool.k8s.controller.ControllerStats;
import io.gpupool.k8s.controller.LeaseController;
import io.gpupool.transport.metrics.ProcessMeters;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A running controller with all its parts. Started and closed by any thread. */
final class ControllerProcess implements AutoCloseable {
  private static final Duration POOL_EVERY = Duration.ofSeconds(10);
  private static final Duration[] REVIEW_BOUNDS =
      IntStream.of(
              500, 1000, 2500, 5000, 10_000, 20_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000)
          .mapToObj(micros -> Duration.of(micros, ChronoUnit.MICROS))
          .toArray(Duration[]::new);

  private final PoolMemory memory;
  private final Webhook webhook;
  private final Leadership leadership;
  private final HealthPort health;
  private volatile @Nullable LeaderTasks term;

  /**
   * The settings of a controller; see {@link ControllerCommand}.
   *
   * @param plan the settings of the leader's tasks
   * @param webhookTls the folder of the webhook's certificate where the leader makes none
   */
  record Setup(LeaderTasks.Plan plan, int webhookPort, int healthPort, Path webhookTls) {}

  private ControllerProcess(
      Setup setup,
      ProcessMeters meters,
      KubernetesClient client,
      KubernetesClient election,
      PoolConnections pool)
      throws IOException {
    memory = PoolMemory.ask(pool, POOL_EVERY);
    webhook =
        Webhook.start(
            setup.webhookPort(),
            client,
            setup.plan().lifetimes() != null
                ? new WebhookCertificate.InSecret(
                    client, setup.plan().namespace(), setup.plan().release() + "-webhook-tls")
                : new WebhookCertificate.InFolder(setup.webhookTls()),
            memory,
            (outcome, nanos) -> review(meters.registry(), outcome, nanos));
    leadership =
        Leadership.start(
            election,
            new ElectionLock(
                setup.plan().namespace(), setup.plan().release() + "-controller", identity()),
            () -> begin(LeaderTasks.begin(client, pool, setup.plan())));
    measure(meters);
    health = HealthPort.open(setup.healthPort(), Optional::empty, webhook::unready, meters);
  }

  /**
   * Starts the parts that can be reached, and retries the others until they can.
   *
   * @param meters shown at its health port, beside its own
   * @param client not closed with this, nor are the others
   * @param election a client whose requests take no longer than {@link Leadership#REQUEST_MILLIS}
   * @throws IOException if a port is taken
   */
  static ControllerProcess start(
      Setup setup,
      ProcessMeters meters,
      KubernetesClient client,
      KubernetesClient election,
      PoolConnections pool)
      throws IOException {
    return new ControllerProcess(setup, meters, client, election, pool);
  }

  int healthPort() {
    return health.port();
  }

  private LeaderTasks begin(LeaderTasks begun) {
    term = begun;
    return begun;
  }

  private static void review(MeterRegistry meters, Outcome outcome, long nanos) {
    Counter.builder("gpupool.k8s.admission.reviews")
        .description("reviews of the webhook, by what became of the object")
        .tag("result", label(outcome))
        .register(meters)
        .increment();
    Timer.builder("gpupool.k8s.admission.review")
        .description("time that a review took")
        .serviceLevelObjectives(REVIEW_BOUNDS)
        .register(meters)
        .record(nanos, TimeUnit.NANOSECONDS);
  }

  private void measure(ProcessMeters meters) {
    meters.gauge(
        "gpupool.k8s.leader",
        "",
        "1 for the replica that makes certificates and leases, else 0",
        () -> OptionalDouble.of(leadership.isLeading() ? 1 : 0));
    meters.gauge(
        "gpupool.k8s.pods",
        "",
        "pods that ask for GPUs and have not ended; this and the next two at the leader alone",
        figure(ControllerStats::pods));
    meters.gauge(
        "gpupool.k8s.leases.waiting",
        "",
        "leases of pods that are asked for and not granted",
        figure(ControllerStats::waiting));
    meters.gauge(
        "gpupool.k8s.leases.held",
        "",
        "leases of pods that are held",
        figure(ControllerStats::granted));
    meters.gauge(
        "gpupool.k8s.pool.reached",
        "",
        "1 if the pool has answered the last time, else 0",
        () -> OptionalDouble.of(memory.isReached() ? 1 : 0));
    meters.gauge(
        "gpupool.k8s.webhook.certificate.end",
        "seconds",
        "when the webhook's certificate is over, in seconds since 1970",
        webhook::certificateEnd);
  }

  private Supplier<OptionalDouble> figure(ToDoubleFunction<ControllerStats> of) {
    return () -> {
      Optional<ControllerStats> figures =
          leadership.isLeading()
              ? Optional.ofNullable(term)
                  .flatMap(LeaderTasks::leases)
                  .flatMap(LeaseController::figures)
              : Optional.empty();
      return figures.isPresent()
          ? OptionalDouble.of(of.applyAsDouble(figures.get()))
          : OptionalDouble.empty();
    };
  }

  private static String label(Outcome outcome) {
    return outcome.name().toLowerCase(Locale.ROOT);
  }

  /** Returns the pod's name, with a suffix that tells its container from the one before. */
  private static String identity() {
    return Environment.variable("POD_NAME")
            .or(() -> Environment.variable("HOSTNAME"))
            .orElse("controller")
        + "-"
        + UUID.randomUUID().toString().substring(0, 8);
  }

  /** Lets another replica be elected once everything has ended. */
  @Override
  public void close() {
    leadership.close();
    webhook.close();
    memory.close();
    health.close();
  }
}
