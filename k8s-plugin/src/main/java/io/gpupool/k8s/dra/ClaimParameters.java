// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceAllocationConfiguration;
import io.gpupool.k8s.request.LeaseClass;
import java.util.List;

/** The opaque configuration of a claim, or of its device class: {@code class: latency}. */
final class ClaimParameters {
  private static final String CLASS = "class";
  private static final int MAX_SHOWN = 64;
  private static final JsonMapper JSON = new JsonMapper();

  private ClaimParameters() {}

  /**
   * Returns the class of the lease for a claim's request. The configuration of a claim comes after
   * that of its device class, and wins.
   *
   * @throws IllegalArgumentException if the configuration has anything else; the message is for
   *     people
   */
  static LeaseClass leaseClass(List<DeviceAllocationConfiguration> configs, String request) {
    LeaseClass last = LeaseClass.BATCH;
    for (DeviceAllocationConfiguration config : configs) {
      if (config.getOpaque() != null
          && DraNames.DRIVER.equals(config.getOpaque().getDriver())
          && isFor(config.getRequests(), request)) {
        last = leaseClass(JSON.valueToTree(config.getOpaque().getParameters()));
      }
    }
    return last;
  }

  private static LeaseClass leaseClass(JsonNode parameters) {
    parameters
        .fieldNames()
        .forEachRemaining(name -> {
          if (!name.equals(CLASS)) {
            throw new IllegalArgumentException(
                "gpupool.io has no parameter '"
                    + shortened(name)
                    + "'; there is class, which is "
                    + LeaseClass.ALL);
          }
        });
    if (!parameters.path(CLASS).isTextual()) {
      throw new IllegalArgumentException(
          "the claim's opaque config for gpupool.io says no class; write class: batch or class:"
              + " latency, or leave the config out");
    }
    String text = parameters.path(CLASS).textValue();
    return LeaseClass.of(text)
        .orElseThrow(() ->
            new IllegalArgumentException(
                "parameter class: '"
                    + shortened(text)
                    + "' is no class of leases; write "
                    + LeaseClass.ALL));
  }

  /** Returns whether a configuration is for that request, or for all. */
  private static boolean isFor(List<String> requests, String request) {
    // A request with alternatives is named before the chosen one.
    return requests.isEmpty()
        || requests.contains(request)
        || requests.contains(request.split("/", 2)[0]);
  }

  private static String shortened(String text) {
    String plain = text.replaceAll("\\p{Cntrl}", "?");
    return plain.length() <= MAX_SHOWN ? plain : plain.substring(0, MAX_SHOWN);
  }
}
