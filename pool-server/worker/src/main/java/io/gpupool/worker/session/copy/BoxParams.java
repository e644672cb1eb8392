// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.session.core.CudaResult;
import io.gpupool.worker.session.core.RefusedException;
import io.gpupool.worker.session.quota.OwnedMemory;

/**
 * The backend's structs of copy and fill nodes, built of those that came: of linear memory of the
 * session, and nothing else.
 *
 * <pre>
 * CUDA_MEMCPY3D: source, then target the same way 88 bytes on, then width, height, depth
 *  0 u64 x in bytes, y, z, level   32 u32 memory type   48 u64 address   72 u64 pitch   80 u64 rows
 * CUDA_MEMSET_NODE_PARAMS
 *  0 u64 address   8 u64 pitch   16 u32 value   20 u32 element bytes   24 u64 width   32 u64 height
 * </pre>
 */
public final class BoxParams {
  private static final int COPY_BYTES = 200;
  private static final int SIDE_BYTES = 88;
  private static final int EXTENT = 2 * SIDE_BYTES;
  private static final int DEVICE = 2;

  private static final int FILL_BYTES = 40;
  private static final int MAX_ELEMENT_BYTES = 4;

  private BoxParams() {}

  /**
   * Writes a copy.
   *
   * @throws RefusedException if it touches anything else than the session's linear memory
   */
  public static long writeCopy(OwnedMemory owned, WireStruct from, long to)
      throws RefusedException {
    if (!from.is(COPY_BYTES)) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    Copy3D box = new Copy3D(from.u64(EXTENT), from.u64(EXTENT + 8), from.u64(EXTENT + 16));
    if (!box.isGood()) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    return box.describe(to, side(owned, box, from, SIDE_BYTES), side(owned, box, from, 0));
  }

  private static Copy3D.Side side(OwnedMemory owned, Copy3D box, WireStruct from, long at)
      throws RefusedException {
    if (from.i32(at + 32) != DEVICE) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    long x = from.u64(at);
    long y = from.u64(at + 8);
    long z = from.u64(at + 16);
    Copy3D.Side corner =
        new Copy3D.Side(0, from.u64(at + 48), 0, 0, 0, from.u64(at + 72), from.u64(at + 80));
    // The whole from the address to the box's end: each factor is bounded before it is multiplied.
    Copy3D reach =
        new Copy3D(
            box.width() + Math.max(0, x),
            box.height() + Math.max(0, y),
            box.depth() + Math.max(0, z));
    boolean sound = x >= 0 && y >= 0 && z >= 0 && reach.isGood() && corner.isGood(reach);
    Copy3D.Side side = sound ? corner.at(x, y, z) : corner;
    if (!sound || !side.isOwned(owned, box)) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    return side;
  }

  /**
   * Writes a fill.
   *
   * @throws RefusedException if it touches anything else than the session's linear memory
   */
  public static long writeFill(OwnedMemory owned, WireStruct from, long to)
      throws RefusedException {
    if (!from.is(FILL_BYTES)) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    int elementBytes = from.i32(20);
    boolean sound =
        Integer.bitCount(elementBytes) == 1
            && elementBytes > 0
            && elementBytes <= MAX_ELEMENT_BYTES
            && owned.owns(from.u64(0), from.u64(8), from.u64(24), elementBytes, from.u64(32));
    if (!sound) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    from.copyNumbers(0, FILL_BYTES, to);
    return to;
  }
}
