// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.graph;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.copy.BoxParams;
import io.gpupool.worker.session.core.CudaResult;
import io.gpupool.worker.session.core.Frames;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.core.RefusedException;
import io.gpupool.worker.session.quota.FirstLaunches;
import io.gpupool.worker.session.quota.OwnedMemory;
import java.util.HashSet;
import java.util.Set;

/** The work of nodes of graphs, as the backend is given it. Used by the session's thread alone. */
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
  private static final int MAX_ATTRIBUTES = 64;
  private static final int EVENT_BYTES = 8;

  // CUDA_KERNEL_NODE_PARAMS
  private static final int PARAMS_SHAPE = 8;
  private static final int PARAMS_SHAPE_BYTES = 28;
  private static final int PARAMS_EXTRA = 48;
  private static final int PARAMS_BYTES = 72;
  private static final int EXTRA_BYTES = 40;

  private final CurrentCall call;
  private final HandleTables handles;
  private final OwnedMemory owned;
  private final FirstLaunches firstLaunches;
  private final Backend backend;

  /** Conditions that the backend has made for the session, and that are still there. */
  private final Set<Long> conditions = new HashSet<>();

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

  GraphWork(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      OwnedMemory owned,
      FirstLaunches firstLaunches) {
    this.call = call;
    this.handles = handles;
    this.owned = owned;
    this.firstLaunches = firstLaunches;
    this.backend = backend;
  }

  void addCondition(long handle) {
    conditions.add(handle);
  }

  void removeCondition(long handle) {
    conditions.remove(handle);
  }

  /** Adds a node; its handle, or a CUresult, negated. */
  long add(int type, Place place, WireStruct source) {
    long out = call.out();
    int result;
    try {
      result =
          switch (type) {
            case KERNEL -> addKernel(out, place, source);
            case COPY ->
                backend.cuGraphAddMemcpyNode(
                    out,
                    place.graph,
                    place.dependencies,
                    place.count,
                    BoxParams.writeCopy(owned, source, call.in()),
                    place.context);
            case FILL ->
                backend.cuGraphAddMemsetNode(
                    out,
                    place.graph,
                    place.dependencies,
                    place.count,
                    BoxParams.writeFill(owned, source, call.in()),
                    place.context);
            case EMPTY ->
                backend.cuGraphAddEmptyNode(out, place.graph, place.dependencies, place.count);
            case EVENT_WAIT -> {
              long event = event(source);
              yield backend.cuGraphAddEventWaitNode(
                  out, place.graph, place.dependencies, place.count, event);
            }
            case EVENT_RECORD -> {
              long event = event(source);
              yield backend.cuGraphAddEventRecordNode(
                  out, place.graph, place.dependencies, place.count, event);
            }
            case CONDITIONAL -> addConditional(out, place, source);
            default -> CudaResult.NOT_SUPPORTED;
          };
    } catch (RefusedException e) {
      result = e.result();
    }
    return result == 0 ? Memory.getLong(out) : -result;
  }

  /** Has later launches do something else in a node. */
  int set(int type, long exec, long node, WireStruct source, long context) {
    try {
      return switch (type) {
        case KERNEL -> backend.cuGraphExecKernelNodeSetParams_v2(exec, node, kernelParams(source));
        case COPY ->
            backend.cuGraphExecMemcpyNodeSetParams(
                exec, node, BoxParams.writeCopy(owned, source, call.in()), context);
        case FILL ->
            backend.cuGraphExecMemsetNodeSetParams(
                exec, node, BoxParams.writeFill(owned, source, call.in()), context);
        case EVENT_WAIT -> backend.cuGraphExecEventWaitNodeSetEvent(exec, node, event(source));
        case EVENT_RECORD -> backend.cuGraphExecEventRecordNodeSetEvent(exec, node, event(source));
        case CONDITIONAL ->
            backend.cuGraphExecNodeSetParams(exec, node, conditionalParams(source, context));
        default -> CudaResult.NOT_SUPPORTED;
      };
    } catch (RefusedException e) {
      return e.result();
    }
  }

  private int addKernel(long out, Place place, WireStruct source) throws RefusedException {
    long params = kernelParams(source);
    int result =
        backend.cuGraphAddKernelNode_v2(out, place.graph, place.dependencies, place.count, params);
    int attributes = source.i32(32);
    long attribute = call.in();
    for (int i = 0; i < attributes && result == 0; i++) {
      long at = KERNEL_BYTES + (long) LaunchAttribute.BYTES * i;
      if (LaunchAttribute.isUnknownToNodes(source.i32(at))) {
        continue;
      }
      result = LaunchAttribute.write(handles, owned, source, at, false, attribute);
      if (result == 0) {
        result =
            backend.cuGraphKernelNodeSetAttribute(
                Memory.getLong(out), Memory.getInt(attribute), attribute + LaunchAttribute.VALUE);
      }
    }
    return result;
  }

  private int addConditional(long out, Place place, WireStruct source) throws RefusedException {
    long params = conditionalParams(source, place.context);
    int result =
        backend.cuGraphAddNode_v2(out, place.graph, place.dependencies, 0, place.count, params);
    bodies = result == 0 ? ConditionalNode.bodies(params) : 0;
    return result;
  }

  private long conditionalParams(WireStruct source, long context) throws RefusedException {
    boolean known =
        ConditionalNode.isWellFormed(source) && conditions.contains(ConditionalNode.handle(source));
    if (!known) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    return ConditionalNode.params(call.in(), source, context);
  }

  /** The backend's graph that is a body of the conditional node added last. */
  long body(int index) {
    return Memory.getLong(bodies + (long) Long.BYTES * index);
  }

  private long event(WireStruct source) throws RefusedException {
    long event =
        source.is(EVENT_BYTES) ? handles.events().get(source.i32(0)) : SessionServices.NO_HANDLE;
    if (event == SessionServices.NO_HANDLE) {
      throw new RefusedException(CudaResult.INVALID_HANDLE);
    }
    return event;
  }

  /** A CUDA_KERNEL_NODE_PARAMS of what came. */
  private long kernelParams(WireStruct source) throws RefusedException {
    long lengthBytes = source.lengthBytes();
    int attributes = lengthBytes < KERNEL_BYTES ? -1 : source.i32(32);
    int parameterBytes = lengthBytes < KERNEL_BYTES ? -1 : source.i32(36);
    boolean inBounds =
        attributes >= 0
            && attributes <= MAX_ATTRIBUTES
            && parameterBytes >= 0
            && parameterBytes <= lengthBytes;
    long fixed = KERNEL_BYTES + (long) LaunchAttribute.BYTES * attributes;
    if (!inBounds || lengthBytes != fixed + Frames.padded(parameterBytes)) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    int number = source.i32(0);
    long function = handles.functions().get(number);
    if (function == SessionServices.NO_HANDLE) {
      throw new RefusedException(CudaResult.INVALID_HANDLE);
    }
    if (firstLaunches.isFirst(number)) {
      int refused = firstLaunches.admit(call.context(), number, function);
      if (refused != 0) {
        throw new RefusedException(refused);
      }
    }
    long params = call.in();
    long extra = params + PARAMS_BYTES;
    Memory.clear(params, PARAMS_BYTES + EXTRA_BYTES + 8);
    Memory.putLong(params, function);
    source.copyNumbers(4, PARAMS_SHAPE_BYTES, params + PARAMS_SHAPE);
    Memory.putLong(params + PARAMS_EXTRA, extra);
    Memory.putLong(extra, Launches.PARAM_BUFFER_POINTER);
    Memory.putLong(extra + 8, source.kernelParameters(fixed, parameterBytes));
    Memory.putLong(extra + 16, Launches.PARAM_BUFFER_SIZE);
    Memory.putLong(extra + 24, extra + EXTRA_BYTES);
    Memory.putLong(extra + EXTRA_BYTES, parameterBytes);
    return params;
  }
}
