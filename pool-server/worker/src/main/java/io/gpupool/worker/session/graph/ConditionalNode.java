// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.graph;

import io.gpupool.cuda.ConditionalParamsLayout;
import io.gpupool.cuda.ConditionalWork;
import io.gpupool.cuda.GraphNodeType;
import io.gpupool.cuda.NodeParamsLayout;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;

/**
 * The driver's CUgraphNodeParams of a conditional node's work. The driver writes the address of the
 * bodies.
 */
final class ConditionalNode {
  private static final int MAX_BODIES = 1 << 12;

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
    Memory.clear(params, NodeParamsLayout.BYTES);
    Memory.putInt(params + NodeParamsLayout.TYPE, GraphNodeType.CONDITIONAL);
    source.copyNumbers(0, ConditionalWork.BYTES, params + NodeParamsLayout.WORK);
    Memory.putLong(params + NodeParamsLayout.WORK + ConditionalParamsLayout.CTX, context);
    return params;
  }

  /** Address of the graphs that the driver made. */
  static long bodies(long params) {
    return Memory.getLong(params + NodeParamsLayout.WORK + ConditionalParamsLayout.GRAPHS);
  }
}
