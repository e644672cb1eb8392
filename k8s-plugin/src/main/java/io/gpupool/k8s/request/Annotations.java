// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import com.fasterxml.jackson.databind.JsonNode;
import io.gpupool.client.lease.LeaseOptions;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The annotations of a pod that are about GPUs.
 *
 * @param texts by name; those that are not strings are missing
 */
record Annotations(Map<String, String> texts) {
  private static final String COUNT_OF = Names.GPU_COUNT + ".";
  private static final Set<String> KNOWN =
      Set.of(
          Names.REQUEST,
          Names.LEASES,
          Names.GPU_COUNT,
          Names.SELECT,
          Names.PRIORITY,
          Names.CLASS,
          Names.RESUME_WINDOW,
          Names.GANG,
          Names.GANG_SIZE,
          Names.CLAIMS);
  private static final Set<String> AS_ALL = Set.of("all", "injection", "y", "yes", "true", "on");
  private static final Pattern GANG = Pattern.compile("[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?");
  private static final Pattern COUNT = Pattern.compile("[0-9]{1,9}");
  private static final Pattern PRIORITY = Pattern.compile("[+-]?[0-9]{1,9}");

  static Annotations of(JsonNode annotations) {
    Map<String, String> texts = new LinkedHashMap<>();
    annotations
        .properties()
        .forEach(entry -> {
          if (entry.getValue().isTextual()) {
            texts.put(entry.getKey(), entry.getValue().textValue());
          }
        });
    return new Annotations(texts);
  }

  /** Returns the request that the webhook has written before; nothing if it is not well-formed. */
  PodRequest earlier() {
    return text(Names.REQUEST).flatMap(PodRequest::parse).orElse(PodRequest.NOTHING);
  }

  /** Returns whether Bitfusion's resources are to be read. */
  boolean bitfusion() {
    return !mode().equals("none");
  }

  /** Returns whether Bitfusion would have run the command by {@code bitfusion run}. */
  boolean bitfusionCommands() {
    return bitfusion() && !mode().equals("injection");
  }

  private String mode() {
    return text(Names.BITFUSION_MODE).orElse("all").strip().toLowerCase(Locale.ROOT);
  }

  void checkMode() throws RefusedException {
    if (bitfusion() && !AS_ALL.contains(mode())) {
      throw RefusedException.wrong(
          "Annotation "
              + Names.BITFUSION_MODE
              + ": '"
              + Shapes.shortened(mode())
              + "' is none of all, injection and none; write all.");
    }
  }

  /** Returns how many GPUs a container is to have, if an annotation says so. */
  Optional<Integer> count(String container) throws RefusedException {
    String name = texts.containsKey(COUNT_OF + container) ? COUNT_OF + container : Names.GPU_COUNT;
    Optional<String> text = text(name);
    if (text.isEmpty()) {
      return Optional.empty();
    }
    String digits = text.get().strip();
    int count = COUNT.matcher(digits).matches() ? Integer.parseInt(digits) : 0;
    if (count < 1 || count > GpuRequest.MAX_GPUS) {
      throw RefusedException.wrong(
          "Annotation "
              + name
              + ": '"
              + Shapes.shortened(text.get())
              + "' is no number of GPUs; write \"1\" to \""
              + GpuRequest.MAX_GPUS
              + "\", in quotes.");
    }
    return Optional.of(count);
  }

  /** Returns the selectors of GPUs. */
  Map<String, String> select(List<String> warnings) throws RefusedException {
    Optional<String> own = text(Names.SELECT);
    Optional<String> filter = text(Names.BITFUSION_FILTER).filter(text -> bitfusion());
    if (own.isPresent() && filter.isPresent()) {
      throw RefusedException.wrong(
          "Annotations "
              + Names.SELECT
              + " and "
              + Names.BITFUSION_FILTER
              + " say the same thing twice; leave one of them out.");
    }
    if (filter.isPresent()) {
      return BitfusionFilter.parse(filter.get());
    }
    return own.isPresent() ? Select.parse(own.get(), warnings) : Map.of();
  }

  int priority() throws RefusedException {
    Optional<String> text = text(Names.PRIORITY);
    if (text.isEmpty()) {
      return 0;
    }
    String digits = text.get().strip();
    boolean number = PRIORITY.matcher(digits).matches();
    if (!number || Math.abs(Integer.parseInt(digits)) > PodRequest.MAX_PRIORITY) {
      throw RefusedException.wrong(
          "Annotation "
              + Names.PRIORITY
              + ": '"
              + Shapes.shortened(text.get())
              + "' is no priority; write \"-1000\" to \"1000\", in quotes.");
    }
    return Integer.parseInt(digits);
  }

  /** Returns the class of the pod's leases. */
  LeaseClass leaseClass() throws RefusedException {
    Optional<String> text = text(Names.CLASS);
    if (text.isEmpty()) {
      return LeaseClass.BATCH;
    }
    return LeaseClass.of(text.get().strip())
        .orElseThrow(() ->
            RefusedException.wrong(
                "Annotation "
                    + Names.CLASS
                    + ": '"
                    + Shapes.shortened(text.get())
                    + "' is no class of leases; write "
                    + LeaseClass.ALL
                    + "."));
  }

  /** Returns how long the pod's programs outlive a broken connection; null: as long as is usual. */
  @Nullable Long resumeWindowMillis() throws RefusedException {
    Optional<String> text = text(Names.RESUME_WINDOW);
    if (text.isEmpty()) {
      return null;
    }
    long millis = millis(text.get());
    if (millis < 0 || millis > PodRequest.MAX_RESUME_WINDOW_MILLIS) {
      throw RefusedException.wrong(
          "Annotation "
              + Names.RESUME_WINDOW
              + ": '"
              + Shapes.shortened(text.get())
              + "' is no time from 0 to 1 h; write for example \"0\", \"90s\" or \"5m\", in"
              + " quotes.");
    }
    return millis;
  }

  /**
   * Returns the gang of the pod; null: it has none.
   *
   * @param containers how many of them ask for GPUs
   */
  @Nullable PodGang gang(int containers) throws RefusedException {
    Optional<String> name = text(Names.GANG);
    Optional<String> size = text(Names.GANG_SIZE);
    if (name.isEmpty() && size.isEmpty()) {
      return null;
    }
    if (name.isEmpty() || size.isEmpty()) {
      throw RefusedException.wrong(
          "Annotations " + Names.GANG + " and " + Names.GANG_SIZE + " go together; write both.");
    }
    String text = name.get().strip();
    if (text.length() > PodGang.MAX_NAME_LENGTH || !GANG.matcher(text).matches()) {
      throw RefusedException.wrong(
          "Annotation "
              + Names.GANG
              + ": '"
              + Shapes.shortened(text)
              + "' is no name of a gang; write letters, digits, '-', '_' and '.', at most "
              + PodGang.MAX_NAME_LENGTH
              + ".");
    }
    String digits = size.get().strip();
    int pods = COUNT.matcher(digits).matches() ? Integer.parseInt(digits) : 0;
    if (pods < 1 || pods > PodGang.MAX_SIZE) {
      throw RefusedException.wrong(
          "Annotation "
              + Names.GANG_SIZE
              + ": '"
              + Shapes.shortened(size.get())
              + "' is no number of pods; write \"1\" to \""
              + PodGang.MAX_SIZE
              + "\", in quotes.");
    }
    if (containers > 1) {
      throw RefusedException.wrong(
          "Annotation "
              + Names.GANG
              + ": "
              + containers
              + " containers of the pod ask for GPUs; in a gang one container of each pod can.");
    }
    return new PodGang(text, pods);
  }

  /** Returns the length of a time in milliseconds; -1: the text is none. */
  private static long millis(String text) {
    try {
      return LeaseOptions.duration(text).toMillis();
    } catch (IllegalArgumentException e) {
      return -1;
    }
  }

  /** Refuses unknown names, and counts for containers that the pod does not have. */
  void checkNames(Set<String> containers) throws RefusedException {
    for (String name : texts.keySet()) {
      if (name.startsWith(COUNT_OF) && !containers.contains(name.substring(COUNT_OF.length()))) {
        throw RefusedException.wrong(
            "Annotation "
                + name
                + " is for a container that the pod has not; it has "
                + String.join(", ", containers)
                + ".");
      }
      if (name.startsWith(Names.PREFIX) && !name.startsWith(COUNT_OF) && !KNOWN.contains(name)) {
        throw RefusedException.wrong(
            "Annotation "
                + name
                + " means nothing; there are "
                + Names.GPU_COUNT
                + ", "
                + COUNT_OF
                + "CONTAINER, "
                + Names.SELECT
                + ", "
                + Names.PRIORITY
                + ", "
                + Names.CLASS
                + ", "
                + Names.RESUME_WINDOW
                + ", "
                + Names.GANG
                + ", "
                + Names.GANG_SIZE
                + " and "
                + Names.CLAIMS
                + ".");
      }
    }
  }

  /** Returns whether annotations would matter if the pod asked for GPUs. */
  boolean wouldAsk() {
    return texts.keySet().stream()
        .anyMatch(name ->
            name.startsWith(Names.PREFIX)
                && !name.equals(Names.REQUEST)
                && !name.equals(Names.LEASES)
                && !name.equals(Names.CLAIMS));
  }

  private Optional<String> text(String name) {
    return Optional.ofNullable(texts.get(name));
  }
}
