// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.pod;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.gpupool.k8s.controller.pod.PodFacts.Told;
import io.gpupool.k8s.controller.pod.PodState.Reason;
import io.gpupool.k8s.request.Names;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.TreeMap;

/**
 * JSON patches that write the state of a pod's leases on the pod. They first test what others may
 * have changed, so a patch of an outdated pod fails.
 */
public final class PodPatches {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private PodPatches() {}

  /** Returns the patch of the pod's annotation and gate; empty if they are right. */
  public static Optional<String> ofPod(PodFacts pod, PodState state) {
    ArrayNode patch = begin(pod);
    if (state.reason() == Reason.ENDED) {
      // The annotation with its past leases stays, to be read.
      return end(patch);
    }
    String path = "/metadata/annotations/" + Names.LEASES.replace("/", "~1");
    String leases = annotation(pod, state);
    if (!leases.equals(pod.leases())) {
      if (leases.isEmpty()) {
        operation(patch, "remove", path);
      } else {
        operation(patch, "add", path).put("value", leases);
      }
    }
    int gate = pod.gates().indexOf(Names.GATE);
    if (state.mayRun() && gate >= 0) {
      String at = "/spec/schedulingGates/" + gate;
      operation(patch, "test", at + "/name").put("value", Names.GATE);
      operation(patch, "remove", at);
    }
    return end(patch);
  }

  private static String annotation(PodFacts pod, PodState state) {
    if (state.leases().isEmpty() || !state.isGranted() && pod.leases().isEmpty()) {
      return "";
    }
    ObjectNode leases = JSON.objectNode();
    new TreeMap<>(state.leases()).forEach(leases::put);
    return leases.toString();
  }

  /** Returns the patch of the status's condition; empty if it is right. */
  public static Optional<String> ofStatus(PodFacts pod, PodState state, Instant now) {
    ArrayNode patch = begin(pod);
    Optional<Told> told = Optional.ofNullable(pod.told());
    if (state.reason() == Reason.ENDED && told.filter(Told::granted).isEmpty()) {
      return end(patch);
    }
    boolean same =
        told.filter(t ->
                t.granted() == state.isGranted()
                    && t.reason().equals(state.reason().text())
                    && t.message().equals(state.message()))
            .isPresent();
    if (!same) {
      String since =
          told.filter(t -> t.granted() == state.isGranted())
              .map(Told::since)
              .orElse(now.truncatedTo(ChronoUnit.SECONDS).toString());
      condition(patch, pod, condition(state, since));
    }
    return end(patch);
  }

  private static void condition(ArrayNode patch, PodFacts pod, ObjectNode condition) {
    String path = "/status/conditions";
    int at = pod.conditions().indexOf(Names.CONDITION);
    if (at >= 0) {
      operation(patch, "test", path + "/" + at + "/type").put("value", Names.CONDITION);
      operation(patch, "replace", path + "/" + at).set("value", condition);
      return;
    }
    operation(patch, "test", "/metadata/resourceVersion").put("value", pod.version());
    if (pod.conditions().isEmpty()) {
      operation(patch, "add", path).set("value", JSON.arrayNode().add(condition));
    } else {
      operation(patch, "add", path + "/-").set("value", condition);
    }
  }

  private static ObjectNode condition(PodState state, String since) {
    return JSON.objectNode()
        .put("type", Names.CONDITION)
        .put("status", state.isGranted() ? "True" : "False")
        .put("reason", state.reason().text())
        .put("message", state.message())
        .put("lastTransitionTime", since);
  }

  private static ArrayNode begin(PodFacts pod) {
    ArrayNode patch = JSON.arrayNode();
    operation(patch, "test", "/metadata/uid").put("value", pod.key().uid());
    return patch;
  }

  private static Optional<String> end(ArrayNode patch) {
    return patch.size() == 1 ? Optional.empty() : Optional.of(patch.toString());
  }

  private static ObjectNode operation(ArrayNode patch, String operation, String path) {
    return patch.addObject().put("op", operation).put("path", path);
  }
}
