// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.array;

import io.gpupool.soft.texture.TexelFormat;
import java.util.List;

/** The source of a texture: CUDA_RESOURCE_DESC. */
public sealed interface TextureResource {
  /** An array, or the levels of a mipmapped one, the largest first. */
  record Arrays(List<SoftArray> levels) implements TextureResource {
    public Arrays {
      levels = List.copyOf(levels);
    }
  }

  /** Elements one after the other in device memory. */
  record Linear(long address, TexelFormat format, long lengthBytes) implements TextureResource {}

  /**
   * Rows of elements in device memory.
   *
   * @param width in elements
   */
  record Pitched(long address, TexelFormat format, long width, long height, long pitchBytes)
      implements TextureResource {}

  /**
   * Which part of arrays is read, and as what: CUDA_RESOURCE_VIEW_DESC.
   *
   * @param viewFormat CUresourceViewFormat; 0: as the array's
   */
  record View(int viewFormat, int firstLevel, int lastLevel, int firstLayer, int lastLayer) {}
}
