// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

/** The largest arrays, textures and surfaces, in elements: those of current cards. */
final class TextureLimits {
  static final int LINE = 131_072;
  static final int SURFACE_LINE = 32_768;
  static final int PLANE_WIDTH = 131_072;
  static final int PLANE_HEIGHT = 65_536;
  static final int VOLUME_SIDE = 16_384;
  static final int LAYERED_SIDE = 32_768;
  static final int LAYERS = 2_048;
  static final int CUBE_LAYERS = 2_046;
  static final int GATHER_SIDE = 32_768;
  static final int MIPMAPPED_SIDE = 32_768;
  static final int LINEAR_ELEMENTS = 1 << 28;
  static final int PITCHED_WIDTH = 131_072;
  static final int PITCHED_HEIGHT = 65_000;
  static final int PITCHED_PITCH_BYTES = 2_097_120;
  static final int PITCH_ALIGNMENT_BYTES = 32;

  private TextureLimits() {}
}
