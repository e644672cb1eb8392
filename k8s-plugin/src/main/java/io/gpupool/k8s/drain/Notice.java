// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.drain;

import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Taint;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** A node's notice that it is about to be taken away or is to get no more work. */
final class Notice {
  /** The keys of taints by which admins and various controllers announce a node's end. */
  private static final Set<String> TAINTS =
      Set.of(
          "ToBeDeletedByClusterAutoscaler",
          "aws-node-termination-handler/asg-lifecycle-termination",
          "aws-node-termination-handler/rebalance-recommendation",
          "aws-node-termination-handler/scheduled-maintenance",
          "aws-node-termination-handler/spot-itn",
          "cloud.google.com/impending-node-termination",
          "gpupool.io/drain",
          "karpenter.sh/disrupted",
          "karpenter.sh/disruption",
          "node.kubernetes.io/out-of-service");

  private Notice() {}

  /** Returns the part of a node that {@link #of} looks at; the rest of it is large. */
  static Node slim(Node node) {
    return new NodeBuilder()
        .withNewMetadata()
        .withName(node.getMetadata().getName())
        .withUid(node.getMetadata().getUid())
        .withResourceVersion(node.getMetadata().getResourceVersion())
        .endMetadata()
        .withSpec(node.getSpec())
        .build();
  }

  /** Returns the notice in words; empty: there is none. */
  static Optional<String> of(Node node) {
    List<Taint> taints =
        node.getSpec() == null || node.getSpec().getTaints() == null
            ? List.of()
            : node.getSpec().getTaints();
    Optional<String> told =
        taints.stream()
            .map(Taint::getKey)
            .filter(TAINTS::contains)
            .sorted()
            .findFirst()
            .map(key -> "taint " + key);
    boolean cordoned =
        node.getSpec() != null && Boolean.TRUE.equals(node.getSpec().getUnschedulable());
    return told.or(() -> cordoned ? Optional.of("cordoned") : Optional.empty());
  }
}
