// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.node;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.k8s.command.process.ApiServer;
import io.gpupool.k8s.command.process.Environment;
import io.gpupool.k8s.command.process.PoolOptions;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.Signals;
import io.gpupool.transport.metrics.MetricOptions;
import io.gpupool.transport.metrics.ProcessMeters;
import io.netty.channel.EventLoopGroup;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The command {@code gpupool-k8s node}: device plugin and agent of a node. */
@Command(
    name = "node",
    description = {
      "Gives containers of this node their way to the pool, and serves their programs. Needs the",
      "node's processes (hostPID) and root, but no privilege."
    })
public final class NodeCommand implements Callable<Integer> {
  private static final Logger LOG = LoggerFactory.getLogger(NodeCommand.class);
  private static final int REQUEST_MILLIS = 4000;

  @Mixin private PoolOptions pool = new PoolOptions();

  @Option(names = "--node", paramLabel = "NAME", description = "this node (else NODE_NAME)")
  private @Nullable String node;

  @Option(
      names = "--name",
      paramLabel = "RELEASE",
      defaultValue = "gpupool",
      description = {
        "the release, whose DaemonSet RELEASE-node is asked for when the process ends: if it is"
            + " gone,",
        "too, what is on the node is removed (default: ${DEFAULT-VALUE})"
      })
  private String name = "";

  @Option(
      names = "--namespace",
      paramLabel = "NAMESPACE",
      description = "in which that is (else POD_NAMESPACE; without it nothing is ever removed)")
  private @Nullable String namespace;

  @Option(
      names = "--shim-source",
      paramLabel = "FOLDER",
      defaultValue = "/gpupool/lib/shim",
      description = {
        "the shim's libraries, to be copied at the start, with the folder nccl beside it (default:",
        "${DEFAULT-VALUE})"
      })
  private Path shimSource;

  @Option(
      names = "--shim-folder",
      paramLabel = "FOLDER",
      defaultValue = "/run/gpupool/shim",
      description = {
        "where to, at the node; mounted here at the same path (default: ${DEFAULT-VALUE})"
      })
  private Path shimFolder;

  @Option(
      names = "--agent-folder",
      paramLabel = "FOLDER",
      defaultValue = "/run/gpupool",
      description = {
        "of the agent's socket, at the node; mounted here at the same path (default:",
        "${DEFAULT-VALUE})"
      })
  private Path agentFolder;

  @Option(
      names = "--kubelet-folder",
      paramLabel = "FOLDER",
      defaultValue = "/var/lib/kubelet",
      description = "the kubelet's, with device-plugins and pods (default: ${DEFAULT-VALUE})")
  private Path kubeletFolder;

  @Option(
      names = "--max-devices",
      paramLabel = "N",
      defaultValue = "20000",
      description = {
        "hundredths of GPUs that the node offers at most, whatever the pool has (default:",
        "${DEFAULT-VALUE})"
      })
  private int maxDevices;

  @Option(
      names = "--cdi-folder",
      paramLabel = "FOLDER",
      description = {
        "write a file for the Container Device Interface there, and have the container runtime"
            + " read",
        "it; only where the runtime does"
      })
  private @Nullable Path cdiFolder;

  @Option(
      names = "--dra",
      description = {
        "have claims of dynamic resource allocation prepared here, too (Kubernetes 1.34 and"
            + " later);",
        "needs --cdi-folder"
      })
  private boolean dra;

  @Option(
      names = "--health-port",
      paramLabel = "PORT",
      defaultValue = "8081",
      description = "/healthz, /readyz and /metrics; 0: any (default: ${DEFAULT-VALUE})")
  private int healthPort;

  @Mixin private MetricOptions metrics = new MetricOptions();

  @Override
  public Integer call() throws Exception {
    String nodeName = Environment.required("--node", node, "NODE_NAME");
    NodeProcess.Setup setup =
        new NodeProcess.Setup(
            shimSource,
            shimFolder,
            agentFolder,
            kubeletFolder,
            Path.of("/proc"),
            maxDevices,
            cdiFolder,
            Environment.port("--health-port", healthPort));
    setup.plugin();
    if (dra && cdiFolder == null) {
      throw new IllegalArgumentException(
          "--dra gives containers their devices by CDI: give --cdi-folder, too");
    }
    EventLoopGroup loops = EventLoops.create("gpupool-node", 1);
    Optional<String> home =
        Optional.ofNullable(namespace).or(() -> Environment.variable("POD_NAMESPACE"));
    try (ProcessMeters meters =
            new ProcessMeters("gpupool-k8s-node", metrics.collector().orElse(null));
        KubernetesClient client = new ApiServer(meters.registry()).client(REQUEST_MILLIS, 0);
        OwnDaemonSet set =
            home.map(where -> OwnDaemonSet.look(client, where, name + "-node")).orElse(null)) {
      boolean gone;
      NodeProcess process = NodeProcess.start(setup, pool.connections(loops), loops, meters);
      try (process;
          NodeDra _ = dra ? NodeDra.start(setup, pool.connections(loops), loops) : null) {
        System.out.println(
            "gpupool-k8s node " + nodeName + " started: health port " + process.healthPort());
        System.out.flush();
        Signals.awaitTermination();
        gone = set != null && set.isGone();
      }
      if (gone) {
        process.removeTraces();
      } else {
        LOG.info("ends; what containers have mounted stays on the node");
      }
    }
    return 0;
  }
}
