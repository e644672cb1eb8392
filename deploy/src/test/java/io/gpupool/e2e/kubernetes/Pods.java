// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodCondition;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Pods of one namespace, as kubectl makes them and Kubernetes shows them. */
record Pods(Cluster cluster, String namespace, List<String> program) {
  private static final String CONDITION = "gpupool.io/Lease";

  /** Runs the program once. */
  String computes() {
    return String.join(" ", program);
  }

  /** Runs it, and then waits until it is ended, as it does for a second program at any time. */
  String computesAndStays() {
    return computes() + " && echo stays && exec sleep 1000";
  }

  /** Runs kernels for as long as it is let, and prints a line for each second's. */
  String computesOnAndOn() {
    return "while sleep 1; do echo; done | /load kernels";
  }

  /**
   * Computes and checks the results until {@link #endInput}, and then prints whether all were
   * right.
   */
  String computesUntilEndOfInput() {
    return "while ! [ -e /tmp/enough ]; do sleep 1; done"
        + " | /resumed /kernels.ptx until-end-of-input";
  }

  /** Has one that {@link #computesUntilEndOfInput} come to its end. */
  void endInput(String name) {
    cluster.kubectlPrints("exec", "-n", namespace, name, "--", "sh", "-c", ": > /tmp/enough");
  }

  /**
   * The specification of a pod of one container.
   *
   * @param gpu what it asks for, of {@code gpupool.io/gpu}
   * @param command of its shell
   */
  static String spec(String gpu, String command) {
    return "{restartPolicy: Never, terminationGracePeriodSeconds: 1, containers: [{name: main, image: '"
        + ProgramImage.NAME
        + "', command: [sh, -c, '"
        + command
        + "'], resources: {limits: {gpupool.io/gpu: "
        + gpu
        + "}}}]}";
  }

  void make(String name, String spec) {
    apply("{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: " + spec + "}");
  }

  /** Makes a Deployment, whose pods are labelled {@code app} with its name and restarted. */
  void makeDeployment(String name, int replicas, String spec) {
    apply(
        ("{apiVersion: apps/v1, kind: Deployment, metadata: {name: %1$s}, spec: {replicas: %2$d,"
                + " selector: {matchLabels: {app: %1$s}}, template: {metadata: {labels: {app: %1$s}},"
                + " spec: %3$s}}}")
            .formatted(name, replicas, spec.replace("Never", "Always")));
  }

  /** Applies a manifest as users do. */
  String apply(String yaml) {
    Shell.Ended ended = applying(yaml);
    assertThat(ended.status()).as("%s", ended).isZero();
    return ended.output();
  }

  Shell.Ended applying(String yaml, Object... options) {
    try {
      Path file = Files.createTempFile("manifest", ".yaml");
      try {
        // What begins with a brace would be taken for JSON.
        Files.writeString(file, "---\n" + yaml);
        Object[] line = new Object[options.length + 5];
        System.arraycopy(new Object[] {"apply", "-n", namespace, "-f", file}, 0, line, 0, 5);
        System.arraycopy(options, 0, line, 5, options.length);
        return cluster.kubectl(line);
      } finally {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Pod get(String name) {
    Pod pod = cluster.client().pods().inNamespace(namespace).withName(name).get();
    assertThat(pod).as("pod %s", name).isNotNull();
    return pod;
  }

  /** The first of those with a label. */
  String withLabel(String key, String value) {
    List<Pod> found =
        cluster.client().pods().inNamespace(namespace).withLabel(key, value).list().getItems();
    assertThat(found).as("pods with %s=%s", key, value).isNotEmpty();
    return found.getFirst().getMetadata().getName();
  }

  String log(String name) {
    return cluster.kubectl("logs", "-n", namespace, name).output();
  }

  /** Its condition about leases as REASON: MESSAGE. */
  Optional<String> lease(String name) {
    return get(name).getStatus().getConditions().stream()
        .filter(condition -> condition.getType().equals(CONDITION))
        .map(Pods::text)
        .findFirst();
  }

  private static String text(PodCondition condition) {
    return condition.getReason() + ": " + condition.getMessage();
  }

  /** The id of its container's lease. */
  String leaseId(String name) {
    String leases = get(name).getMetadata().getAnnotations().get("gpupool.io/leases");
    assertThat(leases).isNotNull();
    return leases.replaceAll(".*\"(L\\d+)\".*", "$1");
  }

  String phase(String name) {
    return get(name).getStatus().getPhase();
  }

  List<String> events(String name) {
    return cluster.client().v1().events().inNamespace(namespace).list().getItems().stream()
        .filter(event -> event.getInvolvedObject().getName().equals(name))
        .map(event -> event.getReason() + ": " + event.getMessage())
        .toList();
  }

  void awaitComputed(String name) {
    Later.is(() ->
        assertThat(log(name)).as("%s %s", phase(name), events(name)).contains("vector_add: OK"));
  }

  /** Waits until one that {@link #computesOnAndOn} has printed something new. */
  void awaitComputing(String name) {
    long before = log(name).lines().count();
    Later.is(() ->
        assertThat(log(name).lines().skip(before))
            .as("%s %s", phase(name), events(name))
            .anySatisfy(line -> assertThat(line).contains("units in")));
  }

  void awaitQueued(String name) {
    Later.is(() ->
        assertThat(lease(name))
            .hasValueSatisfying(text -> assertThat(text).startsWith("Queued: ")));
  }

  /** The longest time between two lines of what a program has printed so far. */
  Duration longestSilence(String name) {
    List<Instant> times =
        cluster
            .kubectlPrints("logs", "--timestamps", "-n", namespace, name)
            .lines()
            .map(line -> Instant.parse(line.substring(0, line.indexOf(' '))))
            .toList();
    Duration longest = Duration.ZERO;
    for (int i = 1; i < times.size(); i++) {
      Duration silence = Duration.between(times.get(i - 1), times.get(i));
      longest = longest.compareTo(silence) < 0 ? silence : longest;
    }
    return longest;
  }

  void awaitStays(String name) {
    Later.is(
        () -> assertThat(log(name)).as("%s %s", phase(name), events(name)).contains("OK", "stays"));
  }

  void delete(String... names) {
    cluster.kubectlPrints(
        "delete", "pod", "-n", namespace, "--grace-period=1", String.join(" ", names));
  }

  /** What an object is to be, and how many times that has changed. */
  String specification(String object) {
    return cluster.kubectlPrints(
        "get", object, "-n", namespace, "-o", "jsonpath={.metadata.generation}{.spec}");
  }

  /** How many pods of a job have. */
  String succeeded(String job) {
    return cluster.kubectlPrints(
        "get", "job", job, "-n", namespace, "-o", "jsonpath={.status.succeeded}");
  }

  /** Deletes what makes pods. */
  void deleteWorkloads() {
    cluster.kubectlPrints(
        "delete",
        "deployments,statefulsets,daemonsets,cronjobs,jobs",
        "-n",
        namespace,
        "--all",
        "--ignore-not-found");
  }

  /** Deletes all of them, without waiting for their programs. */
  void deleteAll() {
    cluster.kubectlPrints(
        "delete", "pods", "-n", namespace, "--all", "--force", "--grace-period=0");
  }
}
