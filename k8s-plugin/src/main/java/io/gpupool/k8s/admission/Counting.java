// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.gpupool.k8s.request.GpuRequest;
import io.gpupool.k8s.request.GpuRequest.Size;
import io.gpupool.k8s.request.Names;
import io.gpupool.k8s.request.PodReader;
import io.gpupool.k8s.request.PodRequest;
import io.gpupool.k8s.request.Quantity;
import io.gpupool.k8s.request.Reading;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The rewriting of a pod's resources: it replaces what users write by the counted resource and the
 * exact request.
 */
final class Counting {
  private static final long MEBIBYTE = 1L << 20;
  private static final List<String> LISTS = List.of("requests", "limits");

  private Counting() {}

  /** The count of a container, in hundredths of GPUs. */
  interface Count {
    long percent(String container, GpuRequest request) throws DeniedException;
  }

  /** Rewrites resources, commands and annotation of a pod or template. */
  static void rewrite(ObjectNode pod, Reading reading, Count count) throws DeniedException {
    for (ObjectNode container : Trees.containers(pod)) {
      String name = Trees.name(container);
      if (!reading.touched().contains(name)) {
        continue;
      }
      GpuRequest request = reading.request().containers().get(name);
      set(pod, container, request == null ? null : Long.valueOf(count.percent(name, request)));
      if (reading.commands().contains(name)) {
        container.set("command", shell(container.path("command")));
      }
    }
    annotate(pod, reading.request());
  }

  /**
   * Returns the count, by the size of the pool's GPUs if the request depends on it.
   *
   * @param known the bytes of the pool's largest GPU; null: not known
   */
  static long percent(String container, GpuRequest request, @Nullable Long known)
      throws DeniedException {
    if (known == null && request.countDependsOnGpu()) {
      throw DeniedException.denied(
          "Container "
              + container
              + " asks for memory of a GPU, and how much GPUs have is not known, because the pool"
              + " cannot be reached at the moment; try again later, or ask for a part of a GPU, as"
              + " in "
              + Names.GPU
              + ": 0.5.");
    }
    long gpuMemoryBytes = Objects.requireNonNullElse(known, Long.MAX_VALUE);
    if (request.size() instanceof Size.Memory(long bytes) && bytes > gpuMemoryBytes) {
      throw DeniedException.denied(
          "Container "
              + container
              + " asks for "
              + mebibytes(bytes)
              + " of a GPU, and GPUs of this pool have at most "
              + mebibytes(gpuMemoryBytes)
              + "; ask for less of each, and for more of them with the annotation "
              + Names.GPU_COUNT
              + ".");
    }
    return request.percent(gpuMemoryBytes);
  }

  private static String mebibytes(long bytes) {
    return Math.ceilDiv(bytes, MEBIBYTE) + "Mi";
  }

  /**
   * Removes gpupool's resources, and adds the counted resource if something is asked for.
   *
   * @param percent the count; null: nothing is asked for
   */
  static void set(ObjectNode pod, ObjectNode container, @Nullable Long percent)
      throws DeniedException {
    ObjectNode resources = Trees.map(container, "resources");
    for (String list : LISTS) {
      ObjectNode amounts = Trees.map(resources, list);
      List<String> ours = new ArrayList<>();
      amounts
          .fieldNames()
          .forEachRemaining(name -> {
            boolean right = isCount(name, amounts.get(name), percent);
            if (PodReader.isOurs(name, pod) && !right) {
              ours.add(name);
            }
          });
      amounts.remove(ours);
      if (percent != null && !amounts.has(Names.GPU_PERCENT)) {
        amounts.put(Names.GPU_PERCENT, Long.toString(percent));
      }
      if (amounts.isEmpty()) {
        resources.remove(list);
      }
    }
  }

  private static boolean isCount(String name, JsonNode value, @Nullable Long percent) {
    return name.equals(Names.GPU_PERCENT) && Long.valueOf(written(value)).equals(percent);
  }

  /** Returns the count of a container of an earlier object; 0 if it has none. */
  static long counted(JsonNode container) {
    return written(container.path("resources").path("limits").path(Names.GPU_PERCENT));
  }

  private static long written(JsonNode value) {
    try {
      return Quantity.of(value).longValueExact();
    } catch (NumberFormatException e) {
      return 0;
    } catch (ArithmeticException e) {
      // Out of range, or not a whole number.
      return -1;
    }
  }

  private static void annotate(ObjectNode pod, PodRequest request) throws DeniedException {
    JsonNode written = Trees.annotation(pod, Names.REQUEST);
    if (request.isNothing()) {
      if (!written.isMissingNode()) {
        Trees.map(Trees.map(pod, "metadata"), "annotations").remove(Names.REQUEST);
      }
    } else if (!PodRequest.parse(written.asText("")).equals(Optional.of(request))) {
      Trees.map(Trees.map(pod, "metadata"), "annotations").put(Names.REQUEST, request.toJson());
    }
  }

  /** Returns a command that runs a shell line as Bitfusion did. */
  static JsonNode shell(JsonNode command) {
    return JsonNodeFactory.instance
        .arrayNode()
        .add("/bin/bash")
        .add("-c")
        .add(command.path(0).asText());
  }
}
