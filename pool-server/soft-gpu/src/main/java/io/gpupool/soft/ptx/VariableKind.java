// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

/**
 * The content of a variable: data, or a reference that the program binds ({@code .texref} and
 * such).
 */
public enum VariableKind {
  DATA,
  TEXTURE,
  SAMPLER,
  SURFACE;

  /** By the word that stands where a type does. */
  public static VariableKind of(String type) {
    return switch (type) {
      case ".texref" -> TEXTURE;
      case ".samplerref" -> SAMPLER;
      case ".surfref" -> SURFACE;
      default -> DATA;
    };
  }
}
