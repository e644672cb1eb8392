// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.gpupool.k8s.request.GpuRequest;
import io.gpupool.k8s.request.Names;
import io.gpupool.k8s.request.PodReader;
import io.gpupool.k8s.request.PodRequest;
import io.gpupool.k8s.request.Reading;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The pod template of a workload. A container that was counted once keeps its count while it asks
 * for the same: a template that changed by itself would roll its pods out again, be taken for
 * another by the Deployment that owns the ReplicaSet, or be refused for a Job. Pods are always
 * counted anew.
 */
final class Template {
  private Template() {}

  /**
   * Rewrites a template, and checks its pods for everything that does not depend on when they are
   * created.
   */
  static Change admit(ObjectNode template, Optional<ObjectNode> old, Settings settings)
      throws DeniedException {
    if (old.isPresent() && old.get().equals(template)) {
      return Change.none(template);
    }
    Reading reading = PodReader.read(template);
    if (!reading.refusals().isEmpty()) {
      throw new DeniedException(reading.refusals());
    }
    OptionalLong gpuMemoryBytes = settings.gpuMemoryBytes().get();
    ObjectNode changed = template.deepCopy();
    Counting.rewrite(
        changed,
        reading,
        (name, request) -> {
          Long kept = reading.kept().get(name);
          long before = kept == null ? before(old, name, request) : kept;
          return before > 0 ? before : Counting.percent(name, request, gpuMemoryBytes);
        });
    return new Change(changed, reading.warnings());
  }

  /** Returns the count that the same request has had so far; 0 if there was none. */
  private static long before(Optional<ObjectNode> old, String name, GpuRequest request) {
    if (old.isEmpty()) {
      return 0;
    }
    Optional<GpuRequest> same =
        PodRequest.parse(Trees.annotation(old.get(), Names.REQUEST).asText(""))
            .map(earlier -> earlier.containers().get(name))
            .filter(request::equals);
    if (same.isEmpty()) {
      return 0;
    }
    for (JsonNode container : Trees.containers(old.get())) {
      if (Trees.name(container).equals(name)) {
        return Counting.counted(container);
      }
    }
    return 0;
  }
}
