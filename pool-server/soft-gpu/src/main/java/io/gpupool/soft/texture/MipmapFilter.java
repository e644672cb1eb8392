// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

/**
 * The way in which the levels of a mipmapped texture are chosen: the mipmap members of
 * CUDA_TEXTURE_DESC.
 *
 * @param linear whether values are interpolated between levels
 * @param bias added to the level of detail
 * @param min the least level of detail
 * @param max the greatest level of detail
 */
public record MipmapFilter(boolean linear, float bias, float min, float max) {
  /** The largest level alone. */
  public static final MipmapFilter NONE = new MipmapFilter(false, 0, 0, 0);
}
