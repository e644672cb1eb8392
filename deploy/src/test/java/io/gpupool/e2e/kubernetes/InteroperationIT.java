// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/**
 * Other features of Kubernetes beside gpupool: autoscaling, admission policies, resizing, shared
 * claims, and a node that is lost.
 */
class InteroperationIT extends TwoNodes {
  @Test
  @Order(1)
  void autoscaler_changesReplicas_leasesFollow() {
    pods.makeDeployment("scaled", 1, Pods.spec("0.1", pods.computesAndStays()));
    // Without metrics, its limits alone move it.
    scale(3, 4);
    Later.is(() -> assertThat(gpupool.leases()).hasSize(3));
    scale(1, 2);
    Later.is(() -> assertThat(gpupool.leases()).hasSize(2));
    cluster.kubectlPrints("delete", "hpa", "scaled", "-n", "team");
  }

  private static void scale(int least, int most) {
    pods.apply(
        ("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: scaled},"
                + " spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: scaled},"
                + " minReplicas: %d, maxReplicas: %d, metrics: [{type: Resource, resource: {name:"
                + " cpu, target: {type: Utilization, averageUtilization: 50}}}]}}")
            .formatted(least, most));
  }

  @Test
  @Order(2)
  void admissionPolicy_seesTheRewrittenPod() {
    pods.apply(
        "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata:"
            + " {name: half}, spec: {failurePolicy: Fail, matchConstraints: {resourceRules:"
            + " [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}]},"
            + " validations: [{message: at most half a GPU, expression: \"object.spec.containers"
            + ".all(c, !has(c.resources.limits) || !('gpupool.io/gpu-percent' in c.resources.limits)"
            + " || !quantity(c.resources.limits['gpupool.io/gpu-percent'])"
            + ".isGreaterThan(quantity('50')))\"}]}}");
    pods.apply(
        "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding,"
            + " metadata: {name: half}, spec: {policyName: half, validationActions: [Deny],"
            + " matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name:"
            + " team}}}}}");
    try {
      // A policy takes effect a moment after it is there.
      Later.is(() -> {
        Shell.Ended tooMuch =
            pods.applying(
                "{apiVersion: v1, kind: Pod, metadata: {name: more}, spec: "
                    + Pods.spec("0.6", pods.computes())
                    + "}",
                "--dry-run=server");
        assertThat(tooMuch.errors()).contains("at most half a GPU");
      });
      pods.make("half", Pods.spec("0.5", pods.computes()));
      pods.awaitComputed("half");
    } finally {
      cluster.kubectlPrints(
          "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "half");
    }
  }

  @Test
  @Order(3)
  void podResizedInPlace_keepsLeaseAndProgram() {
    pods.make(
        "long",
        Pods.spec("0.5", pods.computesOnAndOn())
            .replace("limits: {", "requests: {cpu: 100m}, limits: {cpu: 500m, "));
    pods.awaitComputing("long");
    String lease = pods.leaseId("long");
    cluster.kubectlPrints(
        "patch",
        "pod",
        "long",
        "-n",
        "team",
        "--subresource=resize",
        "-p",
        "{\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{\"cpu\":\"600m\"}}}]}}");
    Later.is(() ->
        assertThat(
                pods.get("long")
                    .getStatus()
                    .getContainerStatuses()
                    .getFirst()
                    .getResources()
                    .getLimits()
                    .get("cpu")
                    .toString())
            .isEqualTo("600m"));
    pods.awaitComputing("long");
    assertThat(pods.leaseId("long")).isEqualTo(lease);
    assertThat(pods.get("long").getStatus().getContainerStatuses().getFirst().getRestartCount())
        .isZero();
  }

  @Test
  @Order(4)
  void claimOfTwoPods_servesOneAfterTheOther_withoutAStormOfEvents() {
    gpupool.upgrade("dra.enabled", "true");
    gpupool.makePartition("20Gi", 25);
    try {
      pods.apply(
          "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: shared}, spec:"
              + " {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpupool.io}}]}}}");
      for (String name : List.of("first", "second")) {
        pods.apply(
            "{apiVersion: v1, kind: Pod, metadata: {name: "
                + name
                + ", annotations: {gpupool.io/claims: \"true\"}}, spec: {restartPolicy: Never,"
                + " resourceClaims: [{name: gpu, resourceClaimName: shared}], containers: [{name:"
                + " main, image: '"
                + ProgramImage.NAME
                + "', command: [sh, -c, '"
                + pods.computes()
                + " && sleep 5'], resources: {claims: [{name: gpu}]}}]}}");
      }
      Later.within(
          Duration.ofMinutes(3),
          () -> {
            assertThat(pods.log("first")).contains("vector_add: OK");
            assertThat(pods.log("second")).contains("vector_add: OK");
          });
      assertThat(
              cluster.client().v1().events().inNamespace("team").list().getItems().stream()
                  .filter(event -> event.getReason().equals("ClaimRefused")))
          .as("at most one for each pod")
          .hasSizeLessThanOrEqualTo(2);
    } finally {
      pods.deleteAll();
      cluster.kubectlPrints("delete", "resourceclaim", "shared", "-n", "team");
      Later.is(() -> assertThat(gpupool.leases()).isEmpty());
      gpupool.deletePartition();
    }
  }

  @Test
  @Order(5)
  void lostNode_leaseOfItsPod_endsAfterAMinute() {
    pods.make(
        "lost",
        Pods.spec("1", pods.computesAndStays())
            .replaceFirst(
                "\\{",
                "{nodeSelector: {kubernetes.io/hostname: "
                    + Cluster.OTHER_NODE
                    + "}, tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists,"
                    + " effect: NoExecute, tolerationSeconds: 1}], "));
    pods.awaitStays("lost");
    pods.make(
        "next",
        Pods.spec("1", pods.computes())
            .replaceFirst(
                "\\{", "{nodeSelector: {kubernetes.io/hostname: " + Cluster.NODE + "}, "));
    pods.awaitQueued("next");
    cluster.killKubelet(Cluster.OTHER_NODE);
    try {
      Later.within(
          Duration.ofMinutes(5), () -> assertThat(pods.log("next")).contains("vector_add: OK"));
    } finally {
      cluster.restartKubelet(Cluster.OTHER_NODE);
    }
  }
}
