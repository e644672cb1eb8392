// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.pod;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerState;
import io.fabric8.kubernetes.api.model.ContainerStatus;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodCondition;
import io.fabric8.kubernetes.api.model.PodSchedulingGate;
import io.fabric8.kubernetes.api.model.PodStatus;
import io.gpupool.k8s.request.Names;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The facts of a pod that the controller needs, a small part of the object.
 *
 * @param node empty while the pod is on none
 * @param gates in the order of the pod's
 * @param conditions types, in the order of the pod's; empty: it has no such list yet
 * @param told the pod's condition as it stands; null: it has none yet
 * @param containers init containers and containers, in the order of the pod's
 */
public record PodFacts(
    PodKey key,
    Request asked,
    String node,
    List<String> gates,
    List<String> conditions,
    @Nullable Told told,
    Life life,
    List<InPod> containers) {

  /**
   * The request of a pod, and the leases that it got.
   *
   * @param request as the webhook has written it; empty: there is none
   * @param leases annotation with the leases, as written
   * @param classPriority the value of its PriorityClass, unless an annotation gives its priority;
   *     null: there is none
   */
  public record Request(String request, String leases, @Nullable Integer classPriority) {}

  /**
   * The life of a pod.
   *
   * @param version of the object, as the API server has it
   * @param created creation time, as the API server has it; sorts as text
   * @param finished by its phase
   * @param deadline when its containers must be gone; null: it is not being deleted
   */
  public record Life(
      String version, String created, boolean finished, @Nullable Instant deadline) {}

  /** The pod's condition that gpupool writes. */
  public record Told(boolean granted, String reason, String message, String since) {}

  /** The kinds of a pod's containers. */
  public enum Kind {
    /** Runs alone, to its end. */
    INIT,
    /** Runs from before the containers until after them. */
    SIDECAR,
    /** Runs beside the others. */
    MAIN
  }

  /**
   * A container.
   *
   * @param started whether it has ever run
   * @param running whether it runs
   * @param done whether it has ended successfully
   */
  public record InPod(String name, Kind kind, boolean started, boolean running, boolean done) {}

  /** Returns the request as the webhook has written it; empty: there is none. */
  public String request() {
    return asked.request();
  }

  /** Returns the annotation with the leases, as written. */
  public String leases() {
    return asked.leases();
  }

  public OptionalInt classPriority() {
    Integer priority = asked.classPriority();
    return priority == null ? OptionalInt.empty() : OptionalInt.of(priority);
  }

  /** Returns the version of the object, as the API server has it. */
  public String version() {
    return life.version();
  }

  /** Returns the creation time, as the API server has it; it sorts as text. */
  public String created() {
    return life.created();
  }

  public boolean finished() {
    return life.finished();
  }

  /** Returns when the pod's containers must be gone; empty: it is not being deleted. */
  public Optional<Instant> deadline() {
    return Optional.ofNullable(life.deadline());
  }

  /** Returns whether no part of the pod will ever use a GPU again. */
  public boolean isOver() {
    if (finished() || deadline().isEmpty()) {
      return finished();
    }
    return node.isEmpty()
        || containers.stream().anyMatch(InPod::started)
            && containers.stream().noneMatch(InPod::running);
  }

  /** Returns whether a part of the pod may use a GPU already. */
  public boolean hasStarted() {
    return containers.stream().anyMatch(InPod::started);
  }

  public boolean isGated() {
    return gates.contains(Names.GATE);
  }

  public static PodFacts of(Pod pod) {
    ObjectMeta meta = pod.getMetadata();
    Map<String, String> annotations =
        meta.getAnnotations() == null ? Map.of() : meta.getAnnotations();
    PodStatus status = pod.getStatus() == null ? new PodStatus() : pod.getStatus();
    List<PodCondition> conditions = orEmpty(status.getConditions());
    return new PodFacts(
        new PodKey(meta.getUid(), meta.getNamespace(), meta.getName()),
        new Request(
            annotations.getOrDefault(Names.REQUEST, ""),
            annotations.getOrDefault(Names.LEASES, ""),
            annotations.containsKey(Names.PRIORITY) || pod.getSpec().getPriority() == null
                ? null
                : pod.getSpec().getPriority()),
        orEmpty(pod.getSpec().getNodeName()),
        orEmpty(pod.getSpec().getSchedulingGates()).stream()
            .map(PodSchedulingGate::getName)
            .toList(),
        conditions.stream().map(PodCondition::getType).toList(),
        conditions.stream()
            .filter(c -> Names.CONDITION.equals(c.getType()))
            .findFirst()
            .map(c ->
                new Told(
                    "True".equals(c.getStatus()),
                    orEmpty(c.getReason()),
                    orEmpty(c.getMessage()),
                    orEmpty(c.getLastTransitionTime())))
            .orElse(null),
        new Life(
            orEmpty(meta.getResourceVersion()),
            orEmpty(meta.getCreationTimestamp()),
            "Succeeded".equals(status.getPhase()) || "Failed".equals(status.getPhase()),
            instant(meta.getDeletionTimestamp())),
        containers(pod, status));
  }

  private static List<InPod> containers(Pod pod, PodStatus status) {
    Map<String, ContainerStatus> statuses = new HashMap<>();
    orEmpty(status.getInitContainerStatuses()).forEach(s -> statuses.put(s.getName(), s));
    orEmpty(status.getContainerStatuses()).forEach(s -> statuses.put(s.getName(), s));
    List<InPod> containers = new ArrayList<>();
    for (Container container : orEmpty(pod.getSpec().getInitContainers())) {
      boolean sidecar = "Always".equals(container.getRestartPolicy());
      containers.add(
          inPod(container, sidecar ? Kind.SIDECAR : Kind.INIT, statuses.get(container.getName())));
    }
    for (Container container : orEmpty(pod.getSpec().getContainers())) {
      containers.add(inPod(container, Kind.MAIN, statuses.get(container.getName())));
    }
    return List.copyOf(containers);
  }

  private static InPod inPod(Container container, Kind kind, @Nullable ContainerStatus status) {
    ContainerState state =
        status == null || status.getState() == null ? new ContainerState() : status.getState();
    boolean running = state.getRunning() != null;
    boolean ended = state.getTerminated() != null;
    boolean again =
        status != null && status.getRestartCount() != null && status.getRestartCount() > 0;
    return new InPod(
        container.getName(),
        kind,
        running || ended || again,
        running,
        ended && Integer.valueOf(0).equals(state.getTerminated().getExitCode()));
  }

  private static @Nullable Instant instant(String time) {
    try {
      return time == null ? null : Instant.parse(time);
    } catch (DateTimeParseException e) {
      return Instant.MAX;
    }
  }

  private static String orEmpty(String text) {
    return text == null ? "" : text;
  }

  private static <T> List<T> orEmpty(List<T> list) {
    return list == null ? List.of() : list;
  }
}
