// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.util.Locale;

/**
 * A part of a GPU's compute, as people read it.
 *
 * @param percent of the GPU's compute, with four digits at most shown
 */
public record ComputePercent(double percent) {
  /** Returns {@code 50 % compute} or {@code 12.5 % compute}. */
  @Override
  public String toString() {
    return String.format(Locale.ROOT, "%.4g", percent).replaceAll("\\.?0+$", "") + " % compute";
  }
}
