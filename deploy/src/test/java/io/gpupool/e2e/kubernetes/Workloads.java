// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import java.util.List;
import java.util.stream.Collectors;

/** Workloads of every kind that Kubernetes makes pods of, each with a tenth of a GPU. */
record Workloads(Pods pods) {
  /** The kinds, by which their pods' label {@code app} is named, too. */
  static final List<String> KINDS =
      List.of("deployment", "statefulset", "daemonset", "job", "cronjob");

  void applyAll() {
    for (String kind : KINDS) {
      pods.apply(manifest(kind));
    }
  }

  /** Has the CronJob's time come. */
  void runCronJob() {
    pods.cluster()
        .kubectlPrints(
            "create", "job", "by-hand", "--from=cronjob/cronjob", "-n", pods.namespace());
  }

  private String manifest(String kind) {
    String template =
        "template: {metadata: {labels: {app: %s}}, spec: %s}"
            .formatted(
                kind,
                Pods.spec("100m", pods.computesAndStays())
                    .replace("Never", kind.endsWith("job") ? "Never" : "Always"));
    String selector = "selector: {matchLabels: {app: " + kind + "}}, ";
    return switch (kind) {
      case "deployment" -> object("apps/v1", "Deployment", kind, selector + template);
      case "statefulset" ->
          object("apps/v1", "StatefulSet", kind, "serviceName: x, " + selector + template);
      case "daemonset" -> object("apps/v1", "DaemonSet", kind, selector + template);
      case "job" -> object("batch/v1", "Job", kind, template);
      case "cronjob" ->
          object(
              "batch/v1",
              "CronJob",
              kind,
              "schedule: \"0 0 1 1 *\", jobTemplate: {spec: {" + template + "}}");
      default -> throw new IllegalArgumentException(kind);
    };
  }

  private static String object(String version, String kind, String name, String spec) {
    return "{apiVersion: %s, kind: %s, metadata: {name: %s}, spec: {%s}}"
        .formatted(version, kind, name, spec);
  }

  /** How many times their specifications have changed; jobs count no changes. */
  String generations() {
    return KINDS.stream()
        .map(kind -> pods.specification(kind + "/" + kind))
        .collect(Collectors.joining());
  }
}
