// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The amounts of gpupool's resources that a container names in requests, limits or both.
 *
 * @param where the container, as messages name it
 * @param byResource as written, including zero
 */
record Amounts(String where, Map<String, Written> byResource) {
  /** A number and its original text. */
  record Written(BigDecimal value, String text) {}

  /**
   * Reads the amounts.
   *
   * @param bitfusion whether to read Bitfusion's names
   */
  static Amounts of(String where, JsonNode resources, boolean bitfusion) throws RefusedException {
    Map<String, Written> found = new LinkedHashMap<>();
    for (String list : List.of("requests", "limits")) {
      JsonNode amounts = Shapes.object(resources, list, where + ", resources");
      for (Map.Entry<String, JsonNode> entry : amounts.properties()) {
        String resource = entry.getKey();
        if (!isOurs(resource, bitfusion)) {
          continue;
        }
        requireKnown(where, resource);
        Written written = written(where, resource, entry.getValue());
        Written other = found.putIfAbsent(resource, written);
        if (other != null && other.value().compareTo(written.value()) != 0) {
          throw RefusedException.wrong(
              where
                  + " has "
                  + resource
                  + ": "
                  + other.text()
                  + " in requests and "
                  + written.text()
                  + " in limits; GPUs cannot be overcommitted, so write the same in both, or"
                  + " limits alone.");
        }
      }
    }
    return new Amounts(where, found);
  }

  /** Returns whether a resource of this name is for gpupool to read. */
  static boolean isOurs(String resource, boolean bitfusion) {
    return resource.startsWith(Names.PREFIX)
        || bitfusion && resource.startsWith(Names.BITFUSION_PREFIX);
  }

  private static void requireKnown(String where, String resource) throws RefusedException {
    List<String> known = resource.startsWith(Names.PREFIX) ? Names.OWN : Names.BITFUSION;
    if (!known.contains(resource)) {
      throw RefusedException.wrong(
          where
              + " asks for "
              + resource
              + ", which there is not; there are "
              + String.join(", ", known)
              + ".");
    }
  }

  private static Written written(String where, String resource, JsonNode node)
      throws RefusedException {
    String text = node.isValueNode() ? node.asText() : "something else than a number";
    try {
      Written written = new Written(Quantity.of(node), Shapes.shortened(text));
      if (written.value().signum() < 0) {
        throw RefusedException.wrong(
            where + " has " + resource + ": " + text + ", less than nothing; " + how(resource));
      }
      return written;
    } catch (NumberFormatException e) {
      throw RefusedException.wrong(
          where
              + " has "
              + resource
              + ": "
              + Shapes.shortened(text)
              + ", which "
              + e.getMessage()
              + "; "
              + how(resource));
    }
  }

  private static String how(String resource) {
    return switch (resource) {
      case Names.GPU -> "write a number of GPUs such as 2, or a part of one such as 0.5.";
      case Names.GPU_MEMORY -> "write the bytes of each GPU, such as 8Gi.";
      case Names.GPU_COMPUTE -> "write the percent of each GPU's time, 1 to 100.";
      case Names.GPU_PERCENT -> "write hundredths of GPUs, such as 50.";
      case Names.BITFUSION_AMOUNT -> "write a number of GPUs.";
      case Names.BITFUSION_PERCENT -> "write the percent of each GPU, 1 to 100.";
      default -> "write the megabytes of each GPU, such as 8000M.";
    };
  }

  boolean hasAny(List<String> resources) {
    return resources.stream().anyMatch(byResource::containsKey);
  }

  /** Returns an amount; empty if it is missing or zero, which asks for nothing. */
  Optional<Written> asked(String resource) {
    return Optional.ofNullable(byResource.get(resource))
        .filter(written -> written.value().signum() > 0);
  }

  boolean isZero(String resource) {
    return byResource.containsKey(resource) && asked(resource).isEmpty();
  }

  /** Begins a sentence of refusal. */
  String says(String resource) {
    return where
        + " has "
        + resource
        + ": "
        + Objects.requireNonNull(byResource.get(resource)).text();
  }

  /** Returns the amount of a resource that must be a whole number. */
  Optional<Integer> whole(String resource, int most, String otherwise) throws RefusedException {
    Optional<Written> asked = asked(resource);
    if (asked.isEmpty()) {
      return Optional.empty();
    }
    BigDecimal value = asked.get().value();
    if (value.stripTrailingZeros().scale() > 0 || value.compareTo(BigDecimal.valueOf(most)) > 0) {
      throw RefusedException.wrong(
          says(resource) + ", which is no whole number from 1 to " + most + "; " + otherwise);
    }
    return Optional.of(value.intValueExact());
  }

  /** Returns the names of gpupool's resources here, for messages. */
  String names() {
    return String.join(", ", new ArrayList<>(byResource.keySet()));
  }
}
