// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.graph;

import io.gpupool.cuda.ConditionalWork;
import io.gpupool.cuda.GraphNodeType;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;

/**
 * The driver's CUgraphNodeParams of a conditional node's work.
 *
 * <pre>
 *  0 u32 CUgraphNodeType   16 u64 handle   24 u32 type   28 u32 bodies
 * 32 u64 address of the bodies, written by the driver   40 u64 context
 * </pre>
 */
final class ConditionalNode {
  private static final int MAX_BODIES = 1 << 12;

  private static final int PARAMS_HANDLE = 16;
  private static final int PARAMS_BODIES = 32;
  private static final int PARAMS_CONTEXT = 40;
  private static final int PARAMS_BYTES = 256;

  private ConditionalNode() {}

  static boolean isWellFormed(WireStruct source) {
    return source.lengthBytes() >= ConditionalWork.BYTES
        && count(source) > 0
        && count(source) <= MAX_BODIES
        && source.lengthBytes()
            == ConditionalWork.BYTES + WireStruct.padded(Integer.BYTES * count(source));
  }

  /** The condition, which must be one of the session's. */
  static long handle(WireStruct source) {
    return source.u64(ConditionalWork.HANDLE);
  }

  static int count(WireStruct source) {
    return source.i32(ConditionalWork.BODY_COUNT);
  }

  static int bodyNumber(WireStruct source, int index) {
    return source.i32(ConditionalWork.BYTES + (long) Integer.BYTES * index);
  }

  /** Lays out the params at an address; gives that. */
  static long params(long params, WireStruct source, long context) {
    Memory.clear(params, PARAMS_BYTES);
    Memory.putInt(params, GraphNodeType.CONDITIONAL);
    source.copyNumbers(0, ConditionalWork.BYTES, params + PARAMS_HANDLE);
    Memory.putLong(params + PARAMS_CONTEXT, context);
    return params;
  }

  /** Address of the graphs that the driver made. */
  static long bodies(long params) {
    return Memory.getLong(params + PARAMS_BODIES);
  }
}
