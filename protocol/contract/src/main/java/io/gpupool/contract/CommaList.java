// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.ArrayList;
import java.util.List;

/** The text of a list whose parts commas part. */
final class CommaList {
  private CommaList() {}

  /** Splits at the commas that are not inside parentheses. */
  static List<String> split(String list) {
    List<String> parts = new ArrayList<>();
    int depth = 0;
    int start = 0;
    for (int i = 0; i <= list.length(); i++) {
      char c = i < list.length() ? list.charAt(i) : ',';
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (c == ',' && depth <= 0) {
        String part = list.substring(start, i).strip();
        if (!part.isEmpty()) {
          parts.add(part);
        }
        start = i + 1;
      }
    }
    return parts;
  }
}
