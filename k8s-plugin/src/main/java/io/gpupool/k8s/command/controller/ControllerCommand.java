// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.k8s.certificates.Lifetimes;
import io.gpupool.k8s.certificates.RootsFile;
import io.gpupool.k8s.command.process.ApiServer;
import io.gpupool.k8s.command.process.Environment;
import io.gpupool.k8s.command.process.PoolOptions;
import io.gpupool.k8s.dra.DraOptions;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.Signals;
import io.gpupool.transport.metrics.MetricOptions;
import io.gpupool.transport.metrics.ProcessMeters;
import io.netty.channel.EventLoopGroup;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The command {@code gpupool-k8s controller}: webhook, certificates, and the leases of pods. */
@Command(
    name = "controller",
    description = {
      "Serves the admission webhook, makes the release's certificates, and reserves leases for",
      "pods. Of several replicas, all serve the webhook and one does the rest."
    })
public final class ControllerCommand implements Callable<Integer> {
  /** The makers of certificates. */
  enum Certificates {
    own,
    none
  }

  @Mixin private PoolOptions pool = new PoolOptions();

  @Option(
      names = "--name",
      paramLabel = "RELEASE",
      defaultValue = "gpupool",
      description =
          "with this the names of the release's objects begin (default: ${DEFAULT-VALUE})")
  private String name = "";

  @Option(
      names = "--namespace",
      paramLabel = "NAMESPACE",
      description = "in which they are (else POD_NAMESPACE)")
  private @Nullable String namespace;

  @Option(
      names = "--webhook-port",
      paramLabel = "PORT",
      defaultValue = "8443",
      description = "HTTPS, for the API server; 0: any (default: ${DEFAULT-VALUE})")
  private int webhookPort;

  @Option(
      names = "--health-port",
      paramLabel = "PORT",
      defaultValue = "8080",
      description = "/healthz, /readyz and /metrics; 0: any (default: ${DEFAULT-VALUE})")
  private int healthPort;

  @Option(
      names = "--cluster",
      paramLabel = "ID",
      description = {
        "tells this cluster's leases from those of others at the same pool (default: the UID of"
            + " the",
        "namespace kube-system)"
      })
  private @Nullable String cluster;

  @Option(
      names = "--grace",
      paramLabel = "DURATION",
      defaultValue = "10m",
      description = {
        "how long leases that nobody uses outlive the controller (default: ${DEFAULT-VALUE})"
      })
  private String grace = "";

  @Option(
      names = "--certificates",
      paramLabel = "own|none",
      defaultValue = "own",
      description = {
        "own: makes and renews them; none: somebody else does, and the webhook's is in the folder",
        "of --webhook-tls (default: ${DEFAULT-VALUE})"
      })
  private Certificates certificates = Certificates.own;

  @Option(
      names = "--keep-roots",
      description = {
        "keeps the file of --tls-ca as the release's ConfigMap has it, which the controller fills"
            + " in"
      })
  private boolean keepRoots;

  @Option(
      names = "--webhook-tls",
      paramLabel = "FOLDER",
      defaultValue = "/etc/gpupool/webhook-tls",
      description = "with tls.crt and tls.key, for --certificates none (default: ${DEFAULT-VALUE})")
  private Path webhookTls;

  @Option(
      names = "--ca-days",
      paramLabel = "DAYS",
      defaultValue = "3650",
      description = "life of a root (default: ${DEFAULT-VALUE})")
  private int caDays;

  @Option(
      names = "--certificate-days",
      paramLabel = "DAYS",
      defaultValue = "90",
      description = "life of other certificates (default: ${DEFAULT-VALUE})")
  private int certificateDays;

  @Option(
      names = "--drain-move",
      description = {
        "have servers on nodes that are about to go move their leases to other servers of the pool"
      })
  private boolean drainMove;

  @Option(
      names = "--dra",
      description = {
        "serve claims of dynamic resource allocation (Kubernetes 1.34 and later) from the"
            + " partitions",
        "of --dra-partition"
      })
  private boolean dra;

  @Option(
      names = "--dra-partition",
      paramLabel = "NAME",
      defaultValue = DraOptions.PARTITION,
      description = {
        "the partitions of the pool's GPUs that are for claims alone (default: ${DEFAULT-VALUE})"
      })
  private String draPartition = "";

  @Mixin private MetricOptions metrics = new MetricOptions();

  @Override
  public Integer call() throws Exception {
    String home = Environment.required("--namespace", namespace, "POD_NAMESPACE");
    ControllerProcess.Setup setup =
        new ControllerProcess.Setup(
            new LeaderTasks.Plan(
                name,
                home,
                certificates == Certificates.own ? Lifetimes.ofDays(caDays, certificateDays) : null,
                cluster,
                LeaseOptions.duration(grace),
                drainMove,
                dra ? draPartition : null),
            Environment.port("--webhook-port", webhookPort),
            Environment.port("--health-port", healthPort),
            webhookTls);
    EventLoopGroup loops = EventLoops.create("gpupool-controller", 2);
    ProcessMeters meters =
        new ProcessMeters("gpupool-k8s-controller", metrics.collector().orElse(null));
    ApiServer api = new ApiServer(meters.registry());
    try (meters;
        KubernetesClient client = api.client();
        KubernetesClient election = api.client(Leadership.REQUEST_MILLIS, 0);
        ControllerProcess process =
            ControllerProcess.start(setup, meters, client, election, pool.connections(loops))) {
      Optional<RootsFile> roots =
          pool.trusted()
              .filter(file -> keepRoots)
              .map(file -> RootsFile.keep(client, name, home, file));
      System.out.println("gpupool-k8s controller started: health port " + process.healthPort());
      System.out.flush();
      Signals.awaitTermination();
      roots.ifPresent(RootsFile::close);
    }
    return 0;
  }
}
