// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A real Kubernetes of one node or two, by the command that {@code GPUPOOL_TEST_CLUSTER} names.
 * There can be one on a machine.
 */
final class Cluster implements AutoCloseable {
  static final Path ROOT = Path.of(System.getProperty("gpupool.root"));
  static final Path DEPLOY = ROOT.resolve("deploy");
  static final String NODE = "node-1";
  static final String OTHER_NODE = "node-2";
  private static final Path FOLDER = DEPLOY.resolve("target/cluster");
  private static final Path LOCK = DEPLOY.resolve("target/cluster.lock");
  private static final Path COMMAND = ROOT.resolve(".ci/cluster");
  private static final Duration START = Duration.ofMinutes(5);

  private static final Pattern UP_ELSEWHERE =
      Pattern.compile("a cluster is up already in ([^:]+):");

  private final FileChannel lock;
  private final KubernetesClient client;
  private final Path kubeconfig;

  private Cluster(FileChannel lock, KubernetesClient client, Path kubeconfig) {
    this.lock = lock;
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

  /** Waits until no other test process has a cluster, and starts one. */
  static Cluster start(int nodes) throws IOException {
    FileChannel lock = FileChannel.open(LOCK, CREATE, WRITE);
    try {
      lock.lock();
      return start(nodes, lock);
    } catch (IOException | RuntimeException | Error e) {
      lock.close();
      throw e;
    }
  }

  private static Cluster start(int nodes, FileChannel lock) throws IOException {
    // One that a killed test has left would be in the way.
    Shell.run(START, COMMAND, "down", FOLDER);
    Shell.Ended up = up(nodes);
    if (up.status() != 0) {
      Shell.run(START, COMMAND, "down", FOLDER);
      // It fetches what the machine lacks from the machine's own package mirror.
      assumeFalse(up.errors().contains("could not fetch"), () -> "skipped: " + up.errors().strip());
      throw new AssertionError("the cluster does not start: " + up);
    }
    Path kubeconfig = FOLDER.resolve("kubeconfig.outside");
    Config config =
        new ConfigBuilder(Config.fromKubeconfig(Files.readString(kubeconfig)))
            .withRequestRetryBackoffLimit(3)
            .build();
    return new Cluster(lock, new KubernetesClientBuilder().withConfig(config).build(), kubeconfig);
  }

  private static Shell.Ended up(int nodes) throws IOException {
    List<Object> command = List.of(COMMAND, "up", FOLDER, "--nodes=" + nodes);
    Shell.Ended up = Shell.run(START, command.toArray());
    Matcher other = UP_ELSEWHERE.matcher(up.errors());
    if (up.status() == 0 || !other.find()) {
      return up;
    }
    takeDownWhenFree(Path.of(other.group(1)));
    return Shell.run(START, command.toArray());
  }

  /**
   * Takes down the cluster of another checkout as soon as no test process there has it: the lock
   * beside its folder is free then, also after the process was killed. One that is not a test's has
   * no such lock, and stays.
   */
  private static void takeDownWhenFree(Path folder) throws IOException {
    Path file = folder.resolveSibling(LOCK.getFileName());
    if (!Files.exists(file)) {
      return;
    }
    try (FileChannel channel = FileChannel.open(file, WRITE)) {
      channel.lock();
      Shell.run(START, COMMAND, "down", folder);
    }
  }

  KubernetesClient client() {
    return client;
  }

  void load(Path image) {
    does("image", FOLDER, image);
  }

  void restartKubelet() {
    does("restart", FOLDER, "kubelet");
  }

  void restartKubelet(String node) {
    does("restart", FOLDER, "kubelet", node);
  }

  /** Ends all that runs in pods of a node, at once. */
  void killPods(String node) {
    client.pods().inAnyNamespace().withField("spec.nodeName", node).list().getItems().stream()
        .map(pod -> "pod" + pod.getMetadata().getUid())
        .forEach(Cluster::killProcessesOf);
  }

  private static void killProcessesOf(String cgroup) {
    ProcessHandle.allProcesses()
        .filter(process -> isIn(process.pid(), cgroup))
        .forEach(ProcessHandle::destroyForcibly);
  }

  private static boolean isIn(long pid, String cgroup) {
    try {
      return Files.readString(Path.of("/proc", Long.toString(pid), "cgroup")).contains(cgroup);
    } catch (IOException e) {
      // It has ended meanwhile.
      return false;
    }
  }

  /** Ends a node's kubelet, which has no time to say so. */
  void killKubelet(String node) {
    try {
      // The command's file of its process id, and when that began.
      String pid = Files.readString(FOLDER.resolve("pid/kubelet-" + node)).split("\\s+")[0];
      assertThat(ProcessHandle.of(Long.parseLong(pid)).orElseThrow().destroyForcibly()).isTrue();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Starts its API server anew with further arguments. */
  void restartApiServer(String arguments) {
    restart("apiserver", "API_ARGS=" + arguments);
  }

  /** Starts its scheduler anew with further arguments. */
  void restartScheduler(String arguments) {
    restart("scheduler", "SCHED_ARGS=" + arguments);
  }

  private static void restart(String component, String variable) {
    Shell.Ended ended = Shell.run(START, "env", variable, COMMAND, "restart", FOLDER, component);
    assertThat(ended.status()).as("%s", ended).isZero();
  }

  /** Lets its API server answer nothing, while connections to it stay open. */
  void hangApiServer() {
    does("api-hang", FOLDER);
  }

  /** Ends its API server, whose address then refuses. */
  void killApiServer() {
    does("api-kill", FOLDER);
  }

  /** Has its API server back after {@link #killApiServer}. */
  void startApiServer() {
    does("api-start", FOLDER);
  }

  /** Runs a command among a node's mounts and in its network, in no pod. */
  String onNode(String node, List<Object> command) {
    List<Object> line = new ArrayList<>(List.of("in", FOLDER, node));
    line.addAll(command);
    return does(line.toArray());
  }

  /** Starts a command among a node's mounts and in its network, which ends with the cluster. */
  void startOnNode(String node, Path log, String command) {
    String line = "setsid sh -c '%s' > %s 2>&1 < /dev/null &".formatted(command, log);
    onNode(node, List.of("sh", "-c", line));
  }

  private static String does(Object... arguments) {
    List<Object> line = new ArrayList<>(List.of(COMMAND));
    line.addAll(Arrays.asList(arguments));
    Shell.Ended ended = Shell.run(START, line.toArray());
    assertThat(ended.status()).as("%s: %s", line, ended).isZero();
    return ended.output();
  }

  /** A folder that a node has for itself, as this machine sees it. */
  static Path ofNode(String node, String path) {
    return FOLDER.resolve(node).resolve("own" + path);
  }

  Path kubeconfig() {
    return kubeconfig;
  }

  /** Runs the cluster's kubectl, or a plugin of it that {@code deploy/kubernetes} has. */
  Shell.Ended kubectl(Object... arguments) {
    List<Object> line =
        new ArrayList<>(
            List.of(
                "env",
                "KUBECONFIG=" + kubeconfig,
                "PATH="
                    + DEPLOY.resolve("kubernetes")
                    + ":"
                    + FOLDER.resolve("bin")
                    + ":"
                    + System.getenv("PATH"),
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
    try {
      lock.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
