// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.List;
import java.util.Locale;

/**
 * The layout of a struct or union that travels, or that a driver takes.
 *
 * @param keyword {@code struct} or {@code union}
 * @param name the worker's class of its offsets
 * @param cName the shim's struct
 * @param fields its fields in order
 * @param sizeBytes its size
 * @param alignBytes its alignment
 */
public record Layout(
    String keyword,
    String name,
    String cName,
    List<LayoutField> fields,
    int sizeBytes,
    int alignBytes) {
  public Layout {
    fields = List.copyOf(fields);
  }

  /** Returns its type in C. */
  String cType() {
    return keyword + " " + cName;
  }

  /**
   * A field of a struct or union.
   *
   * @param type its type in C
   * @param name its name
   * @param count how many of the type it is; 0: it is no array
   * @param offset where it begins
   */
  public record LayoutField(String type, String name, int count, int offset) {
    /** Returns the declaration in C. */
    String declaration() {
      String space = type.endsWith("*") ? "" : " ";
      return type + space + name + (count == 0 ? "" : "[" + count + "]");
    }

    /** Returns the name of the offset in Java. */
    String constant() {
      return name.replaceAll("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_")
          .toUpperCase(Locale.ROOT);
    }
  }
}
