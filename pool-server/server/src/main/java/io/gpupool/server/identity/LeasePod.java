// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import io.gpupool.control.v1.PodRef;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The pod of a Kubernetes cluster that a lease is for. The caller that asked for the lease answers
 * for it.
 *
 * @param containers that may use the lease
 * @param node on which it runs, if known
 */
public record LeasePod(
    String uid, String namespace, String name, List<String> containers, @Nullable String node) {
  public LeasePod {
    containers = List.copyOf(containers);
  }

  public static LeasePod of(PodRef message) {
    return new LeasePod(
        message.getUid(),
        message.getNamespace(),
        message.getName(),
        message.getContainersList(),
        Optional.of(message.getNode()).filter(node -> !node.isEmpty()).orElse(null));
  }

  public PodRef message() {
    return PodRef.newBuilder()
        .setUid(uid)
        .setNamespace(namespace)
        .setName(name)
        .addAllContainers(containers)
        .setNode(Objects.requireNonNullElse(node, ""))
        .build();
  }

  /** Whether a container of a pod may use the lease; an empty name stands for any of its own. */
  public boolean serves(String pod, String container) {
    return uid.equals(pod) && (container.isEmpty() || containers.contains(container));
  }
}
