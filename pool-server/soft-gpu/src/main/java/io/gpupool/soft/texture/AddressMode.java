// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

/** The substitute for an element outside a texture; in the order of CUaddress_mode. */
public enum AddressMode {
  WRAP,
  CLAMP,
  MIRROR,
  BORDER;

  /** Stands for the border's colour. */
  static final int OUTSIDE = -1;

  /** The element read for an index, or {@link #OUTSIDE}. */
  int index(int index, int extent) {
    if (index >= 0 && index < extent) {
      return index;
    }
    return switch (this) {
      case WRAP -> Math.floorMod(index, extent);
      case CLAMP -> index < 0 ? 0 : extent - 1;
      case MIRROR -> {
        int place = Math.floorMod(index, 2 * extent);
        yield place < extent ? place : 2 * extent - 1 - place;
      }
      case BORDER -> OUTSIDE;
    };
  }
}
