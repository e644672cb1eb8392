// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.http;

import java.util.List;
import java.util.Locale;

/** A reader of the Accept header of a request. */
public final class AcceptHeader {
  private AcceptHeader() {}

  /** Whether any of these media types is wanted; without a header all are. */
  public static boolean anyOf(List<String> mediaTypes, List<String> headers) {
    return headers.isEmpty() || mediaTypes.stream().anyMatch(type -> accepts(type, headers));
  }

  /** The range that names the type most closely decides. */
  private static boolean accepts(String type, List<String> headers) {
    int closest = 0;
    boolean accepted = false;
    for (String range : String.join(",", headers).toLowerCase(Locale.ROOT).split(",")) {
      String[] parts = range.split(";", -1);
      int closeness = closeness(parts[0].strip(), type);
      if (closeness > closest) {
        closest = closeness;
        accepted = !isRefusal(parts);
      }
    }
    return accepted;
  }

  private static int closeness(String range, String type) {
    if (range.equals(type)) {
      return 3;
    }
    if (range.equals(type.substring(0, type.indexOf('/') + 1) + "*")) {
      return 2;
    }
    return range.equals("*/*") ? 1 : 0;
  }

  private static boolean isRefusal(String[] parts) {
    for (String part : parts) {
      if (part.strip().matches("q=0(\\.0*)?")) {
        return true;
      }
    }
    return false;
  }
}
