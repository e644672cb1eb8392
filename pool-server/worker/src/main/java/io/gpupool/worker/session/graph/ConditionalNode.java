// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.graph;

import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.core.Frames;

/**
 * A conditional node's work as it comes, and the driver's CUgraphNodeParams made of it.
 *
 * <pre>
 * work:   0 u64 handle of the condition   8 u32 CUgraphConditionalNodeType   12 u32 bodies
 *        16 u32 each body's number, padded to 8
 * params: 0 u32 CUgraphNodeType   16 u64 handle   24 u32 type   28 u32 bodies
 *        32 u64 address of the bodies, written by the driver   40 u64 context
 * </pre>
 */
final class ConditionalNode {
  private static final int FIXED_BYTES = 16;
  private static final int MAX_BODIES = 1 << 12;

  private static final int PARAMS_HANDLE = 16;
  private static final int PARAMS_BODIES = 32;
  private static final int PARAMS_CONTEXT = 40;
  private static final int PARAMS_BYTES = 256;

  private ConditionalNode() {}

  static boolean isWellFormed(WireStruct source) {
    return source.lengthBytes() >= FIXED_BYTES
        && count(source) > 0
        && count(source) <= MAX_BODIES
        && source.lengthBytes() == FIXED_BYTES + Frames.padded(Integer.BYTES * count(source));
  }

  /** The condition, which must be one of the session's. */
  static long handle(WireStruct source) {
    return source.u64(0);
  }

  static int count(WireStruct source) {
    return source.i32(12);
  }

  static int bodyNumber(WireStruct source, int index) {
    return source.i32(FIXED_BYTES + (long) Integer.BYTES * index);
  }

  /** Lays out the params at an address; gives that. */
  static long params(long params, WireStruct source, long context) {
    Memory.clear(params, PARAMS_BYTES);
    Memory.putInt(params, GraphWork.CONDITIONAL);
    source.copyNumbers(0, FIXED_BYTES, params + PARAMS_HANDLE);
    Memory.putLong(params + PARAMS_CONTEXT, context);
    return params;
  }

  /** Address of the graphs that the driver made. */
  static long bodies(long params) {
    return Memory.getLong(params + PARAMS_BODIES);
  }
}
