// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

/** The reach of a module-scope name when translation units are linked. */
public enum Linkage {
  /** Seen in its own unit alone. */
  LOCAL,
  /** {@code .visible}: seen everywhere; one unit may define it. */
  VISIBLE,
  /** {@code .weak}: several units may define it; a visible definition wins, else the first. */
  WEAK,
  /** {@code .common}: several units may define it; the largest wins. */
  COMMON,
  /** {@code .extern}: defined in another unit. */
  EXTERN
}
