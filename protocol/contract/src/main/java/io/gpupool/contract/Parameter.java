// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import org.jspecify.annotations.Nullable;

/**
 * A parameter of an entry point.
 *
 * @param direction the purpose of a pointer in an {@code auto} entry point; {@link Direction#VALUE}
 *     everywhere else
 * @param declaration its C declaration, for example {@code const char *name}
 * @param type its C type without the name, blanks normalised, for example {@code const char *}
 * @param name its name
 * @param span the device memory that a {@code CUdeviceptr} of an {@code auto} entry point stands
 *     for; null of other parameters
 */
public record Parameter(
    Direction direction, String declaration, String type, String name, @Nullable DeviceSpan span) {
  /** The purpose of a parameter of generated marshalling. */
  public enum Direction {
    /** Passed as it is. */
    VALUE,
    /** A pointer to one output; may be NULL. */
    OUT
  }

  /**
   * Returns whether the C type is a pointer (handles are not: their pointer is inside the type).
   */
  public boolean isPointer() {
    return type.endsWith("*");
  }

  /**
   * Returns the type that a pointer points to, without {@code const}; the type itself for other
   * parameters.
   */
  public String baseType() {
    String base = type.endsWith("*") ? type.substring(0, type.length() - 1) : type;
    return base.startsWith("const ") ? base.substring(6).strip() : base.strip();
  }
}
