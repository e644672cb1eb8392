// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

import static java.util.Objects.requireNonNull;

import java.util.List;

/**
 * The way in which a texture is read: CUDA_TEXTURE_DESC.
 *
 * @param modes addressing by dimension, x first
 * @param linear whether elements are interpolated
 * @param integers integers are given as they are
 * @param normalized coordinates from 0 to 1 span the texture
 * @param srgb bytes are decoded from sRGB
 * @param seamless a cube map is filtered across the edges of its faces
 * @param mipmap the way in which levels are chosen
 * @param border the value outside where the mode is {@link AddressMode#BORDER}
 */
public record Sampler(
    List<AddressMode> modes,
    boolean linear,
    boolean integers,
    boolean normalized,
    boolean srgb,
    boolean seamless,
    MipmapFilter mipmap,
    List<Float> border) {
  public Sampler {
    modes = List.copyOf(modes);
    border = List.copyOf(requireNonNull(border, "border"));
  }

  /** Returns a sampler for reads of single elements of memory. */
  public static Sampler ofElements(boolean integers) {
    AddressMode border = AddressMode.BORDER;
    return new Sampler(
        List.of(border, border, border),
        false,
        integers,
        false,
        false,
        false,
        MipmapFilter.NONE,
        List.of(0f, 0f, 0f, 0f));
  }
}
