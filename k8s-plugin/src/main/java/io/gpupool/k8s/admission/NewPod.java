// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.gpupool.k8s.request.Names;
import io.gpupool.k8s.request.PodReader;
import io.gpupool.k8s.request.Reading;

/** A pod that is being created. */
final class NewPod {
  private static final String MIRROR = "kubernetes.io/config.mirror";

  private NewPod() {}

  static Change admit(ObjectNode pod, Settings settings) throws DeniedException {
    Reading reading = PodReader.read(pod);
    if (!reading.refusals().isEmpty()) {
      throw new DeniedException(reading.refusals());
    }
    Long gpuMemoryBytes = settings.largestGpuBytes();
    ObjectNode changed = pod.deepCopy();
    Counting.rewrite(
        changed, reading, (name, request) -> Counting.percent(name, request, gpuMemoryBytes));
    if (!reading.request().isNothing()) {
      checkPlace(changed, settings);
      Trees.map(Trees.map(changed, "metadata"), "labels").put(Names.MANAGED, "true");
      addToken(changed, reading);
      if (settings.gates()) {
        addGate(changed);
      }
    }
    if (Trees.annotation(pod, Names.CLAIMS).asText("").equals("true")) {
      addTokenForClaims(changed);
    }
    return new Change(changed, reading.warnings());
  }

  /** Denies pods that can have no token or cannot wait. */
  private static void checkPlace(ObjectNode pod, Settings settings) throws DeniedException {
    JsonNode spec = pod.path("spec");
    if (!Trees.annotation(pod, MIRROR).isMissingNode()) {
      throw DeniedException.denied(
          "A static pod cannot ask for GPUs, since it can have no service account's token; let a"
              + " Deployment or DaemonSet create it.");
    }
    if (spec.path("os").path("name").asText("").equals("windows")) {
      throw DeniedException.denied(
          "A pod for Windows cannot ask for GPUs; gpupool serves Linux containers.");
    }
    if (settings.gates() && !spec.path("nodeName").asText("").isEmpty()) {
      throw DeniedException.denied(
          "The pod names its node ("
              + spec.path("nodeName").asText()
              + "), so it is not scheduled and cannot wait for GPUs; write a nodeSelector with"
              + " kubernetes.io/hostname instead of nodeName.");
    }
  }

  private static void addToken(ObjectNode pod, Reading reading) throws DeniedException {
    Token.addVolume(Trees.map(pod, "spec"));
    for (ObjectNode container : Trees.containers(pod)) {
      if (reading.request().containers().containsKey(Trees.name(container))) {
        Token.addMount(container);
        OwnLease.addTo(container);
      }
    }
  }

  /** Adds the token to containers with claims; the node provides everything else. */
  private static void addTokenForClaims(ObjectNode pod) throws DeniedException {
    for (ObjectNode container : Trees.containers(pod)) {
      if (!container.path("resources").path("claims").isEmpty()) {
        Token.addVolume(Trees.map(pod, "spec"));
        Token.addMount(container);
      }
    }
  }

  private static void addGate(ObjectNode pod) throws DeniedException {
    ArrayNode gates = Trees.list(Trees.map(pod, "spec"), "schedulingGates");
    if (Trees.named(gates, Names.GATE).isEmpty()) {
      gates.addObject().put("name", Names.GATE);
    }
  }
}
