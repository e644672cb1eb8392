// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A real Kubernetes of one node, by the command that {@code GPUPOOL_TEST_CLUSTER} names. There can
 * be one on a machine.
 */
final class Cluster implements AutoCloseable {
  static final Path ROOT = Path.of(System.getProperty("gpupool.root"));
  static final Path DEPLOY = ROOT.resolve("deploy");
  private static final Path FOLDER = DEPLOY.resolve("target/cluster");
  private static final Path COMMAND = ROOT.resolve(".ci/cluster");
  private static final Duration START = Duration.ofMinutes(3);

  private final KubernetesClient client;
  private final Path kubeconfig;

  private Cluster(KubernetesClient client, Path kubeconfig) {
    this.client = client;
    this.kubeconfig = kubeconfig;
  }

  /** Why there is none here; empty if there is. */
  static Optional<String> missing() {
    String command = System.getenv("GPUPOOL_TEST_CLUSTER");
    if (command == null || command.isBlank()) {
      return Optional.of(
          "no Kubernetes cluster (GPUPOOL_TEST_CLUSTER names the command that starts one)");
    }
    return Files.isExecutable(Path.of(command))
        ? Optional.empty()
        : Optional.of("GPUPOOL_TEST_CLUSTER: there is no command " + command);
  }

  static Cluster start() throws IOException {
    // One that a killed test has left would be in the way.
    Shell.run(START, COMMAND, "down", FOLDER);
    Shell.Ended up = Shell.run(START, COMMAND, "up", FOLDER);
    if (up.status() != 0) {
      Shell.run(START, COMMAND, "down", FOLDER);
      throw new AssertionError("the cluster does not start: " + up);
    }
    Path kubeconfig = FOLDER.resolve("kubeconfig.outside");
    Config config =
        new ConfigBuilder(Config.fromKubeconfig(Files.readString(kubeconfig)))
            .withRequestRetryBackoffLimit(3)
            .build();
    return new Cluster(new KubernetesClientBuilder().withConfig(config).build(), kubeconfig);
  }

  KubernetesClient client() {
    return client;
  }

  /** Whether webhooks may change objects; otherwise the API server dies of it. */
  boolean takesChanges() {
    return !Files.exists(FOLDER.resolve("no-changes"));
  }

  void load(Path image) {
    Shell.Ended ended =
        Shell.run(
            START,
            "ctr",
            "-a",
            FOLDER.resolve("containerd.sock"),
            "-n",
            "k8s.io",
            "images",
            "import",
            image);
    assertThat(ended.status()).as("%s", ended).isZero();
  }

  void restartKubelet() {
    assertThat(Shell.run(START, COMMAND, "kubelet-restart", FOLDER).status()).isZero();
  }

  /** Lets its API server answer nothing, while connections to it stay open. */
  void hangApiServer() {
    assertThat(Shell.run(START, COMMAND, "api-hang", FOLDER).status()).isZero();
  }

  /** Ends its API server, whose address then refuses. */
  void killApiServer() {
    assertThat(Shell.run(START, COMMAND, "api-kill", FOLDER).status()).isZero();
  }

  /** Has its API server back after {@link #killApiServer}. */
  void startApiServer() {
    assertThat(Shell.run(START, COMMAND, "api-start", FOLDER).status()).isZero();
  }

  Path kubeconfig() {
    return kubeconfig;
  }

  /** Runs kubectl, or a plugin of it that {@code deploy/kubernetes} has. */
  Shell.Ended kubectl(Object... arguments) {
    List<Object> line =
        new ArrayList<>(
            List.of(
                "env",
                "KUBECONFIG=" + kubeconfig,
                "PATH=" + DEPLOY.resolve("kubernetes") + ":" + System.getenv("PATH"),
                "kubectl"));
    line.addAll(List.of(arguments));
    return Shell.run(Duration.ofMinutes(3), line.toArray());
  }

  /** The same, which has to succeed. */
  String kubectlPrints(Object... arguments) {
    Shell.Ended ended = kubectl(arguments);
    assertThat(ended.status()).as("%s", ended).isZero();
    return ended.output();
  }

  @Override
  public void close() {
    client.close();
    Shell.run(START, COMMAND, "down", FOLDER);
    // What the node's agent has left on the node, which is this machine.
    Shell.run(START, "rm", "-rf", "/run/gpupool");
  }
}
