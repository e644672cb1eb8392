// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.spec;

/** The largest arrays, textures and surfaces, in elements: those of current cards. */
public final class TextureLimits {
  public static final int LINE = 131_072;
  public static final int SURFACE_LINE = 32_768;
  public static final int PLANE_WIDTH = 131_072;
  public static final int PLANE_HEIGHT = 65_536;
  public static final int VOLUME_SIDE = 16_384;
  public static final int LAYERED_SIDE = 32_768;
  public static final int LAYERS = 2_048;
  public static final int CUBE_LAYERS = 2_046;
  public static final int GATHER_SIDE = 32_768;
  public static final int MIPMAPPED_SIDE = 32_768;
  public static final int LINEAR_ELEMENTS = 1 << 28;
  public static final int PITCHED_WIDTH = 131_072;
  public static final int PITCHED_HEIGHT = 65_000;
  public static final int PITCHED_PITCH_BYTES = 2_097_120;
  public static final int PITCH_ALIGNMENT_BYTES = 32;

  private TextureLimits() {}
}
