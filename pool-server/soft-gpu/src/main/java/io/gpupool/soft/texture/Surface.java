// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

/** Elements as kernels read and write them through a surface object. Any thread may use it. */
public final class Surface {
  /** Answer of {@link #offset}: there is no such place. */
  public static final long OUTSIDE = -1;

  private final Texels texels;

  public Surface(Texels texels) {
    this.texels = texels;
  }

  public Texels texels() {
    return texels;
  }

  /**
   * Finds a place.
   *
   * @param x in bytes
   * @param lengthBytes of the access
   * @param clamp whether the nearest place stands for one outside
   * @return where it is among the bytes, or {@link #OUTSIDE}
   */
  public long offset(
      Geometry geometry, int layer, int x, int y, int z, int lengthBytes, boolean clamp) {
    int row = geometry.coordinates() > 1 ? y : 0;
    int slice = geometry.layered() ? layer : geometry == Geometry.VOLUME ? z : 0;
    long lastX = texels.rowBytes() - lengthBytes;
    boolean inside =
        x >= 0
            && x <= lastX
            && row >= 0
            && row < texels.height()
            && slice >= 0
            && slice < texels.depth();
    if (inside) {
      return texels.row(row, slice) + x;
    }
    if (!clamp || lastX < 0) {
      return OUTSIDE;
    }
    return texels.row(
            Math.clamp(row, 0, texels.height() - 1), Math.clamp(slice, 0, texels.depth() - 1))
        + Math.clamp(x, 0, lastX);
  }
}
