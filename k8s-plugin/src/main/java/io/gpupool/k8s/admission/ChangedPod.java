// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.gpupool.k8s.request.Names;
import io.gpupool.k8s.request.PodReader;
import io.gpupool.k8s.request.PodRequest;
import io.gpupool.k8s.request.Reading;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * An update of an existing pod. What the pod asks for cannot change. Applying its manifest again
 * adds the resources that were counted before, and they are removed again.
 */
final class ChangedPod {
  private final ObjectNode old;
  private final ObjectNode changed;
  private final JsonNode request;
  private final List<String> warnings = new ArrayList<>();

  private ChangedPod(ObjectNode pod, ObjectNode old) {
    this.old = old;
    changed = pod.deepCopy();
    // An object that was hidden from the webhook has no request written by the webhook.
    request =
        old.path("metadata").path("labels").path(Names.ADMISSION).asText("").equals(Names.IGNORE)
            ? MissingNode.getInstance()
            : Trees.annotation(old, Names.REQUEST);
  }

  static Change admit(ObjectNode pod, ObjectNode old) throws DeniedException {
    ChangedPod update = new ChangedPod(pod, old);
    update.putBackMarks();
    if (!ours(pod).equals(ours(old))) {
      update.putBackResources();
    }
    return new Change(update.changed, update.warnings);
  }

  /** Returns gpupool's resources by container and list; missing ones have no entry. */
  private static Map<String, Map<String, JsonNode>> ours(ObjectNode pod) {
    Map<String, Map<String, JsonNode>> found = new HashMap<>();
    for (ObjectNode container : Trees.containers(pod)) {
      for (String list : List.of("requests", "limits")) {
        container
            .path("resources")
            .path(list)
            .properties()
            .forEach(entry -> {
              if (PodReader.isOurs(entry.getKey(), pod)) {
                found
                    .computeIfAbsent(Trees.name(container), name -> new HashMap<>())
                    .put(list + " " + entry.getKey(), entry.getValue());
              }
            });
      }
    }
    return found;
  }

  private void putBackMarks() throws DeniedException {
    JsonNode now = Trees.annotation(changed, Names.REQUEST);
    if (!now.equals(request)) {
      if (!now.isMissingNode()) {
        boolean forged = now.equals(Trees.annotation(old, Names.REQUEST));
        warnings.add(
            Names.REQUEST
                + " is written by gpupool alone and "
                + (forged ? "is taken out" : "stays as it was"));
      }
      putBack("annotations", Names.REQUEST, request);
    }
    JsonNode label = old.path("metadata").path("labels").path(Names.MANAGED);
    boolean asks = !request().isNothing() && !label.isMissingNode();
    if (asks && !changed.path("metadata").path("labels").path(Names.MANAGED).equals(label)) {
      putBack("labels", Names.MANAGED, label);
    }
  }

  private void putBack(String map, String name, JsonNode value) throws DeniedException {
    ObjectNode there = Trees.map(Trees.map(changed, "metadata"), map);
    if (value.isMissingNode()) {
      there.remove(name);
    } else {
      there.set(name, value);
    }
  }

  private PodRequest request() {
    return PodRequest.parse(request.asText("")).orElse(PodRequest.NOTHING);
  }

  private void putBackResources() throws DeniedException {
    Reading reading = PodReader.read(changed);
    if (!reading.refusals().isEmpty()) {
      throw new DeniedException(reading.refusals());
    }
    if (!reading.request().containers().equals(request().containers())) {
      throw DeniedException.denied(
          "What a pod asks of the pool cannot be changed once the pod is there; delete it and"
              + " create it anew, or let a Deployment do so.");
    }
    Map<String, ObjectNode> before = new HashMap<>();
    Trees.containers(old).forEach(container -> before.put(Trees.name(container), container));
    for (ObjectNode container : Trees.containers(changed)) {
      String name = Trees.name(container);
      ObjectNode same = before.get(name);
      if (same == null || !reading.touched().contains(name)) {
        continue;
      }
      long counted = Counting.counted(same);
      Counting.set(changed, container, counted > 0 ? Long.valueOf(counted) : null);
      if (reading.commands().contains(name)
          && Counting.shell(container.path("command")).equals(same.path("command"))) {
        container.set("command", same.path("command"));
      }
    }
  }
}
