// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.copy;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Memcpy3DLayout;
import io.gpupool.cuda.MemoryType;
import io.gpupool.cuda.MemsetNodeLayout;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.session.core.RefusedException;
import io.gpupool.worker.session.quota.OwnedMemory;

/**
 * The backend's structs of copy and fill nodes, built of those that came: of linear memory of the
 * session, and nothing else.
 */
public final class BoxParams {
  /** From a field of the source to the same field of the destination. */
  private static final int DESTINATION = Memcpy3DLayout.DST_X_IN_BYTES;

  private static final int MAX_ELEMENT_BYTES = 4;

  private BoxParams() {}

  /**
   * Writes a copy.
   *
   * @throws RefusedException if it touches anything else than the session's linear memory
   */
  public static long writeCopy(OwnedMemory owned, WireStruct from, long to)
      throws RefusedException {
    if (!from.is(Memcpy3DLayout.BYTES)) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    Copy3D box =
        new Copy3D(
            from.u64(Memcpy3DLayout.WIDTH_IN_BYTES),
            from.u64(Memcpy3DLayout.HEIGHT),
            from.u64(Memcpy3DLayout.DEPTH));
    if (!box.isGood()) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    return box.describe(to, side(owned, box, from, DESTINATION), side(owned, box, from, 0));
  }

  private static Copy3D.Side side(OwnedMemory owned, Copy3D box, WireStruct from, long at)
      throws RefusedException {
    if (from.i32(at + Memcpy3DLayout.SRC_MEMORY_TYPE) != MemoryType.DEVICE) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    long x = from.u64(at + Memcpy3DLayout.SRC_X_IN_BYTES);
    long y = from.u64(at + Memcpy3DLayout.SRC_Y);
    long z = from.u64(at + Memcpy3DLayout.SRC_Z);
    Copy3D.Side corner =
        new Copy3D.Side(
            0,
            from.u64(at + Memcpy3DLayout.SRC_DEVICE),
            0,
            0,
            0,
            from.u64(at + Memcpy3DLayout.SRC_PITCH),
            from.u64(at + Memcpy3DLayout.SRC_HEIGHT));
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
    if (!from.is(MemsetNodeLayout.BYTES)) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    int elementBytes = from.i32(MemsetNodeLayout.ELEMENT_SIZE);
    boolean sound =
        Integer.bitCount(elementBytes) == 1
            && elementBytes > 0
            && elementBytes <= MAX_ELEMENT_BYTES
            && owned.owns(
                from.u64(MemsetNodeLayout.DST),
                from.u64(MemsetNodeLayout.PITCH),
                from.u64(MemsetNodeLayout.WIDTH),
                elementBytes,
                from.u64(MemsetNodeLayout.HEIGHT));
    if (!sound) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    from.copyNumbers(0, MemsetNodeLayout.BYTES, to);
    return to;
  }
}
