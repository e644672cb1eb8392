// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A reader of one pod or pod template. */
public final class PodReader {
  private static final int MAX_WARNING = 250;
  private static final List<String> CONTAINERS = List.of("initContainers", "containers");
  private static final String EPHEMERAL = "ephemeralContainers";

  private final JsonNode spec;
  private final JsonNode metadata;
  private final List<Refusal> refusals = new ArrayList<>();
  private final List<String> warnings = new ArrayList<>();
  private final Map<String, GpuRequest> asked = new LinkedHashMap<>();
  private final Map<String, Long> kept = new HashMap<>();
  private final Set<String> names = new LinkedHashSet<>();
  private final Set<String> touched = new LinkedHashSet<>();
  private final Set<String> commands = new HashSet<>();
  private final Set<String> doubled = new LinkedHashSet<>();
  private Annotations annotations = new Annotations(Map.of());

  private PodReader(JsonNode pod) {
    spec = pod.path("spec");
    metadata = pod.path("metadata");
  }

  /**
   * Reads a pod, whatever it looks like.
   *
   * @param pod with {@code metadata} and {@code spec}, as JSON
   */
  public static Reading read(JsonNode pod) {
    return new PodReader(pod).read();
  }

  /** Returns whether the webhook removes a resource from requests and limits. */
  public static boolean isOurs(String resource, JsonNode pod) {
    return Amounts.isOurs(
        resource, Annotations.of(pod.path("metadata").path("annotations")).bitfusion());
  }

  private Reading read() {
    collect(() -> annotations = Annotations.of(Shapes.object(metadata, "annotations", "The pod")));
    collect(this::readPodLevel);
    for (String list : CONTAINERS) {
      collect(() -> {
        for (JsonNode container : Shapes.list(spec, list, "The pod's spec")) {
          collect(() -> readContainer(container));
        }
      });
    }
    collect(this::checkDoubled);
    collect(this::readEphemeral);
    Map<String, String> select = new LinkedHashMap<>();
    int[] priority = {0};
    LeaseClass[] leaseClass = {LeaseClass.BATCH};
    @Nullable Long[] resumeWindowMillis = {null};
    @Nullable PodGang[] gang = {null};
    if (!asked.isEmpty()) {
      collect(() -> select.putAll(annotations.select(warnings)));
      collect(() -> priority[0] = annotations.priority());
      collect(() -> leaseClass[0] = annotations.leaseClass());
      collect(() -> resumeWindowMillis[0] = annotations.resumeWindowMillis());
      collect(() -> gang[0] = annotations.gang(asked.size()));
      collect(() -> annotations.checkNames(names));
    } else if (annotations.wouldAsk() && refusals.isEmpty()) {
      warn("annotations ask for no GPU by themselves; write " + Names.GPU + " in a container");
    }
    PodRequest request =
        asked.isEmpty()
            ? PodRequest.NOTHING
            : new PodRequest(
                asked, select, priority[0], leaseClass[0], resumeWindowMillis[0], gang[0]);
    return new Reading(request, refusals, shortened(), kept, touched, commands);
  }

  private void readPodLevel() throws RefusedException {
    Amounts amounts =
        Amounts.of(
            "The pod", Shapes.object(spec, "resources", "The pod's spec"), annotations.bitfusion());
    if (!amounts.byResource().isEmpty()) {
      throw RefusedException.wrong(
          "The pod has "
              + amounts.names()
              + " for all of its containers together; write it in the container that is to have"
              + " the GPU.");
    }
  }

  private void readContainer(JsonNode container) throws RefusedException {
    String name = container.path("name").isTextual() ? container.path("name").textValue() : "";
    String where = name.isEmpty() ? "A container without a name" : "Container " + name;
    Amounts amounts =
        Amounts.of(where, Shapes.object(container, "resources", where), annotations.bitfusion());
    if (!names.add(name)) {
      doubled.add(name);
    }
    if (amounts.byResource().isEmpty()) {
      return;
    }
    if (name.isEmpty()) {
      throw RefusedException.wrong(where + " asks for " + amounts.names() + "; give it a name.");
    }
    touched.add(name);
    Optional<GpuRequest> request = read(name, amounts, container);
    if (request.isPresent()) {
      asked.put(name, request.get());
      if (request.get().size() instanceof GpuRequest.Size.Fraction(var part)
          && part.scale() > 2
          && amounts.asked(Names.GPU).isPresent()) {
        warn(
            amounts.says(Names.GPU)
                + ", which counts as "
                + request.get().percent(1)
                + " "
                + Names.GPU_PERCENT
                + ", rounded up");
      }
    }
  }

  /**
   * Refuses names that several containers share, because a request by name would be for all of
   * them.
   */
  private void checkDoubled() throws RefusedException {
    doubled.retainAll(touched);
    if (!doubled.isEmpty()) {
      throw RefusedException.wrong(
          "Several containers are called "
              + String.join(", ", doubled)
              + ", and ask for GPUs; give each a name of its own.");
    }
  }

  private Optional<GpuRequest> read(String name, Amounts amounts, JsonNode container)
      throws RefusedException {
    boolean own = amounts.hasAny(List.of(Names.GPU, Names.GPU_MEMORY, Names.GPU_COMPUTE));
    boolean bitfusion = amounts.hasAny(Names.BITFUSION);
    boolean counted = amounts.byResource().containsKey(Names.GPU_PERCENT);
    GpuRequest earlier = annotations.earlier().containers().get(name);
    if (own && bitfusion) {
      throw RefusedException.wrong(
          amounts.where()
              + " asks in gpupool's words and in Bitfusion's ("
              + amounts.names()
              + "); leave one kind out.");
    }
    // When somebody applies a manifest again, the count comes back with the request it was made
    // from.
    if (counted && (own || bitfusion) && earlier == null) {
      throw RefusedException.wrong(
          amounts.where()
              + " asks twice ("
              + amounts.names()
              + "); leave "
              + Names.GPU_PERCENT
              + " out, which gpupool writes itself.");
    }
    Integer count = annotations.count(name).orElse(null);
    if (own) {
      return GpuResourceParser.read(amounts, count);
    }
    if (bitfusion) {
      annotations.checkMode();
      Optional<GpuRequest> request = BitfusionResourceParser.read(amounts, count, warnings);
      if (request.isPresent() && annotations.bitfusionCommands() && isShellLine(container)) {
        commands.add(name);
        warn(
            amounts.where()
                + " has a command of one string with spaces, which is run by /bin/bash -c as"
                + " Bitfusion did");
      }
      return request;
    }
    Optional<GpuRequest> request = GpuPercentParser.read(amounts, earlier, count);
    if (request.isPresent() && request.get().equals(earlier)) {
      kept.put(name, amounts.asked(Names.GPU_PERCENT).orElseThrow().value().longValueExact());
    }
    return request;
  }

  private static boolean isShellLine(JsonNode container) {
    JsonNode command = container.path("command");
    return command.isArray()
        && command.size() == 1
        && command.path(0).asText("").strip().contains(" ")
        && container.path("args").isEmpty();
  }

  private void readEphemeral() throws RefusedException {
    for (JsonNode container : Shapes.list(spec, EPHEMERAL, "The pod's spec")) {
      String where = "Ephemeral container " + container.path("name").asText("");
      Amounts amounts =
          Amounts.of(where, Shapes.object(container, "resources", where), annotations.bitfusion());
      if (!amounts.byResource().isEmpty()) {
        throw RefusedException.wrong(
            where
                + " asks for "
                + amounts.names()
                + ", and ephemeral containers can have no resources; debug in a pod of its own"
                + " that asks for a GPU.");
      }
    }
  }

  private void warn(String text) {
    warnings.add(text);
  }

  private List<String> shortened() {
    return warnings.stream()
        .map(text -> text.length() <= MAX_WARNING ? text : text.substring(0, MAX_WARNING))
        .toList();
  }

  /** A step that may refuse. */
  private interface Step {
    void run() throws RefusedException;
  }

  private void collect(Step step) {
    try {
      step.run();
    } catch (RefusedException e) {
      refusals.add(e.refusal());
    }
  }
}
