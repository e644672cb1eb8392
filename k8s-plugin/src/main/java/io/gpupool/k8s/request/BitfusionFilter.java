// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The annotation {@code bitfusion-client/filter}, such as {@code server.hostname=a device.id=0}, as
 * far as the pool's selectors can express it.
 */
final class BitfusionFilter {
  private static final Pattern CONDITION = Pattern.compile("([a-z-]+\\.[a-z-]+)(>=|=)([^=<>!*,]+)");

  private BitfusionFilter() {}

  static Map<String, String> parse(String text) throws RefusedException {
    Map<String, String> selectors = new LinkedHashMap<>();
    for (String condition : text.strip().split("\\s+")) {
      Matcher parts = CONDITION.matcher(condition);
      String key = parts.matches() ? key(parts.group(1), parts.group(2)) : "";
      if (key.isEmpty()) {
        throw wrong("'" + Shapes.shortened(condition) + "' has no counterpart");
      }
      String value = key.equals("model") ? "*" + parts.group(3) + "*" : parts.group(3);
      String other = selectors.put(key, value);
      if (other != null && !other.equals(value)) {
        throw wrong("alternatives for " + parts.group(1) + " have no counterpart");
      }
    }
    return selectors;
  }

  /** Returns the selector's key; empty if there is none. */
  private static String key(String key, String operator) {
    return switch (key + operator) {
      case "server.hostname=" -> "server";
      case "server.cuda-version=" -> "driver";
      case "server.cuda-version>=" -> "driver>";
      case "device.id=" -> "gpu";
      case "device.name=" -> "model";
      default -> "";
    };
  }

  private static RefusedException wrong(String what) {
    return RefusedException.wrong(
        "Annotation "
            + Names.BITFUSION_FILTER
            + ": "
            + what
            + " in gpupool; filter by one each of server.hostname, server.cuda-version, device.id"
            + " and device.name, or write the annotation "
            + Names.SELECT
            + " instead.");
  }
}
