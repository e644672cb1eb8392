// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.SessionServices;
import io.gpupool.worker.os.Memory;

/** What nodes of graphs do, handed to the backend. Used by the session's thread alone. */
final class GraphWork {
  /*
   * Kernel: u32 each function, grid x y z, block x y z, shared bytes, attribute count, parameter
   * bytes; then attributes of 72 bytes, as CUlaunchAttribute has them; then the parameters.
   * Copy: CUDA_MEMCPY3D between devices. Fill: CUDA_MEMSET_NODE_PARAMS. Event: u32 event, u32 0.
   * Conditional: see ConditionalNode.
   */
  static final int KERNEL = 0;
  static final int COPY = 1;
  static final int FILL = 2;
  static final int EMPTY = 5;
  static final int EVENT_WAIT = 6;
  static final int EVENT_RECORD = 7;
  static final int CONDITIONAL = 13;

  private static final int KERNEL_BYTES = 40;
  private static final int ATTRIBUTE_BYTES = 72;
  private static final int MAX_ATTRIBUTES = 64;
  private static final int COPY_BYTES = 200;
  private static final int FILL_BYTES = 40;
  private static final int EVENT_BYTES = 8;

  /** Attributes whose value holds no handle of the client's: 1 to 6, 8 to 11, 14. */
  private static final int PLAIN_ATTRIBUTES = 0b100_1111_0111_1110;

  // CUDA_KERNEL_NODE_PARAMS
  private static final int PARAMS_SHAPE = 8;
  private static final int PARAMS_SHAPE_BYTES = 28;
  private static final int PARAMS_EXTRA = 48;
  private static final int PARAMS_BYTES = 72;
  private static final int EXTRA_BYTES = 40;

  private final SessionState state;
  private final Backend backend;

  /** Address of the graphs that the backend gave to the latest conditional node. */
  private long bodies;

  /**
   * Where a node is put.
   *
   * @param graph the backend's
   * @param dependencies address of the backend's nodes it comes after
   * @param context the backend's
   */
  record Place(long graph, long dependencies, int count, long context) {}

  GraphWork(SessionState state) {
    this.state = state;
    backend = state.backend;
  }

  /** Adds a node; its handle, or a CUresult, negated. */
  long add(int type, Place place, long source, int lengthBytes) {
    long out = state.out();
    int result =
        switch (type) {
          case KERNEL -> addKernel(out, place, source, lengthBytes);
          case COPY ->
              lengthBytes != COPY_BYTES
                  ? CudaResult.INVALID_VALUE
                  : backend.cuGraphAddMemcpyNode(
                      out, place.graph, place.dependencies, place.count, source, place.context);
          case FILL ->
              lengthBytes != FILL_BYTES
                  ? CudaResult.INVALID_VALUE
                  : backend.cuGraphAddMemsetNode(
                      out, place.graph, place.dependencies, place.count, source, place.context);
          case EMPTY ->
              backend.cuGraphAddEmptyNode(out, place.graph, place.dependencies, place.count);
          case EVENT_WAIT, EVENT_RECORD -> addEvent(type, out, place, source, lengthBytes);
          case CONDITIONAL -> addConditional(out, place, source, lengthBytes);
          default -> CudaResult.NOT_SUPPORTED;
        };
    return result == 0 ? Memory.getLong(out) : -result;
  }

  /** Has later launches do something else in a node. */
  int set(int type, long exec, long node, long source, int lengthBytes, long context) {
    return switch (type) {
      case KERNEL -> {
        long params = kernelParams(source, lengthBytes);
        yield params < 0
            ? (int) -params
            : backend.cuGraphExecKernelNodeSetParams_v2(exec, node, params);
      }
      case COPY ->
          lengthBytes != COPY_BYTES
              ? CudaResult.INVALID_VALUE
              : backend.cuGraphExecMemcpyNodeSetParams(exec, node, source, context);
      case FILL ->
          lengthBytes != FILL_BYTES
              ? CudaResult.INVALID_VALUE
              : backend.cuGraphExecMemsetNodeSetParams(exec, node, source, context);
      case EVENT_WAIT, EVENT_RECORD -> {
        long event = event(source, lengthBytes);
        if (event == SessionServices.NO_HANDLE) {
          yield CudaResult.INVALID_HANDLE;
        }
        yield type == EVENT_WAIT
            ? backend.cuGraphExecEventWaitNodeSetEvent(exec, node, event)
            : backend.cuGraphExecEventRecordNodeSetEvent(exec, node, event);
      }
      case CONDITIONAL ->
          ConditionalNode.isWellFormed(source, lengthBytes)
              ? backend.cuGraphExecNodeSetParams(
                  exec, node, ConditionalNode.params(state.in(), source, context))
              : CudaResult.INVALID_VALUE;
      default -> CudaResult.NOT_SUPPORTED;
    };
  }

  private int addKernel(long out, Place place, long source, int lengthBytes) {
    long params = kernelParams(source, lengthBytes);
    if (params < 0) {
      return (int) -params;
    }
    int result =
        backend.cuGraphAddKernelNode_v2(out, place.graph, place.dependencies, place.count, params);
    int attributes = Memory.getInt(source + 32);
    for (int i = 0; i < attributes && result == 0; i++) {
      long attribute = source + KERNEL_BYTES + (long) ATTRIBUTE_BYTES * i;
      int id = Memory.getInt(attribute);
      boolean plain = id >= 0 && id < Integer.SIZE && (PLAIN_ATTRIBUTES >>> id & 1) != 0;
      result =
          plain
              ? backend.cuGraphKernelNodeSetAttribute(Memory.getLong(out), id, attribute + 8)
              : CudaResult.NOT_SUPPORTED;
    }
    return result;
  }

  private int addEvent(int type, long out, Place place, long source, int lengthBytes) {
    long event = event(source, lengthBytes);
    if (event == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    return type == EVENT_WAIT
        ? backend.cuGraphAddEventWaitNode(out, place.graph, place.dependencies, place.count, event)
        : backend.cuGraphAddEventRecordNode(
            out, place.graph, place.dependencies, place.count, event);
  }

  private int addConditional(long out, Place place, long source, int lengthBytes) {
    if (!ConditionalNode.isWellFormed(source, lengthBytes)) {
      return CudaResult.INVALID_VALUE;
    }
    long params = ConditionalNode.params(state.in(), source, place.context);
    int result =
        backend.cuGraphAddNode_v2(out, place.graph, place.dependencies, 0, place.count, params);
    bodies = result == 0 ? ConditionalNode.bodies(params) : 0;
    return result;
  }

  /** The backend's graph that is a body of the conditional node added last. */
  long body(int index) {
    return Memory.getLong(bodies + (long) Long.BYTES * index);
  }

  private long event(long source, int lengthBytes) {
    return lengthBytes != EVENT_BYTES
        ? SessionServices.NO_HANDLE
        : state.events.get(Memory.getInt(source));
  }

  /** A CUDA_KERNEL_NODE_PARAMS of what came; or a CUresult, negated. */
  private long kernelParams(long source, int lengthBytes) {
    if (lengthBytes < KERNEL_BYTES) {
      return -CudaResult.INVALID_VALUE;
    }
    int attributes = Memory.getInt(source + 32);
    int parameterBytes = Memory.getInt(source + 36);
    boolean inBounds =
        attributes >= 0
            && attributes <= MAX_ATTRIBUTES
            && parameterBytes >= 0
            && parameterBytes <= lengthBytes;
    long fixed = KERNEL_BYTES + (long) ATTRIBUTE_BYTES * attributes;
    if (!inBounds || lengthBytes != fixed + Frames.padded(parameterBytes)) {
      return -CudaResult.INVALID_VALUE;
    }
    long function = state.functions.get(Memory.getInt(source));
    if (function == SessionServices.NO_HANDLE) {
      return -CudaResult.INVALID_HANDLE;
    }
    long params = state.in();
    long extra = params + PARAMS_BYTES;
    Memory.clear(params, PARAMS_BYTES + EXTRA_BYTES + 8);
    Memory.putLong(params, function);
    Memory.copy(source + 4, params + PARAMS_SHAPE, PARAMS_SHAPE_BYTES);
    Memory.putLong(params + PARAMS_EXTRA, extra);
    Memory.putLong(extra, Launches.PARAM_BUFFER_POINTER);
    Memory.putLong(extra + 8, source + fixed);
    Memory.putLong(extra + 16, Launches.PARAM_BUFFER_SIZE);
    Memory.putLong(extra + 24, extra + EXTRA_BYTES);
    Memory.putLong(extra + EXTRA_BYTES, parameterBytes);
    return params;
  }
}
