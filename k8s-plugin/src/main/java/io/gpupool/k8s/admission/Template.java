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
import org.jspecify.annotations.Nullable;

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
   *
   * @param old the template before; null: there was none
   */
  static Change admit(ObjectNode template, @Nullable ObjectNode old, Settings settings)
      throws DeniedException {
    if (old != null && old.equals(template)) {
      return Change.none(template);
    }
    Reading reading = PodReader.read(template);
    if (!reading.refusals().isEmpty()) {
      throw new DeniedException(reading.refusals());
    }
    Long gpuMemoryBytes = settings.largestGpuBytes();
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
  private static long before(@Nullable ObjectNode old, String name, GpuRequest request) {
    if (old == null) {
      return 0;
    }
    Optional<GpuRequest> same =
        PodRequest.parse(Trees.annotation(old, Names.REQUEST).asText(""))
            .map(earlier -> earlier.containers().get(name))
            .filter(request::equals);
    if (same.isEmpty()) {
      return 0;
    }
    for (JsonNode container : Trees.containers(old)) {
      if (Trees.name(container).equals(name)) {
        return Counting.counted(container);
      }
    }
    return 0;
  }
}
