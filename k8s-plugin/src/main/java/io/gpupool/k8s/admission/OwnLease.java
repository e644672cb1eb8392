// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * The environment variable that names a container's own lease, by the container's name. It selects
 * one of the pod's own leases and gives no right to any.
 */
final class OwnLease {
  private static final String VARIABLE = "GPUPOOL_LEASE";

  private OwnLease() {}

  static void addTo(ObjectNode container) throws DeniedException {
    String value = "pod/" + Trees.name(container);
    ArrayNode variables = Trees.list(container, "env");
    for (JsonNode variable : variables) {
      if (!Trees.name(variable).equals(VARIABLE)) {
        continue;
      }
      if (variable.path("value").asText().equals(value)) {
        return;
      }
      throw DeniedException.denied(
          "Container "
              + Trees.name(container)
              + " sets "
              + VARIABLE
              + ", by which gpupool tells programs their lease; leave it out.");
    }
    variables.addObject().put("name", VARIABLE).put("value", value);
  }
}
