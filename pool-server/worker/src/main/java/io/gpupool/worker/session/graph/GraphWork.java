// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.graph;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.EventWork;
import io.gpupool.cuda.GraphNodeType;
import io.gpupool.cuda.KernelNodeLayout;
import io.gpupool.cuda.KernelWork;
import io.gpupool.cuda.LaunchAttributeLayout;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.copy.BoxParams;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.core.RefusedException;
import io.gpupool.worker.session.quota.FirstLaunches;
import io.gpupool.worker.session.quota.OwnedMemory;
import java.util.HashSet;
import java.util.Set;

/** The work of nodes of graphs, as the backend is given it. Used by the session's thread alone. */
final class GraphWork {
  private static final int MAX_ATTRIBUTES = 64;

  /** Grid, block and shared bytes, in what comes as in CUDA_KERNEL_NODE_PARAMS. */
  private static final int SHAPE_BYTES = KernelWork.ATTRIBUTE_COUNT - KernelWork.GRID;

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
            case GraphNodeType.KERNEL -> addKernel(out, place, source);
            case GraphNodeType.MEMCPY ->
                backend.cuGraphAddMemcpyNode(
                    out,
                    place.graph,
                    place.dependencies,
                    place.count,
                    BoxParams.writeCopy(owned, source, call.in()),
                    place.context);
            case GraphNodeType.MEMSET ->
                backend.cuGraphAddMemsetNode(
                    out,
                    place.graph,
                    place.dependencies,
                    place.count,
                    BoxParams.writeFill(owned, source, call.in()),
                    place.context);
            case GraphNodeType.EMPTY ->
                backend.cuGraphAddEmptyNode(out, place.graph, place.dependencies, place.count);
            case GraphNodeType.EVENT_WAIT -> {
              long event = event(source);
              yield backend.cuGraphAddEventWaitNode(
                  out, place.graph, place.dependencies, place.count, event);
            }
            case GraphNodeType.EVENT_RECORD -> {
              long event = event(source);
              yield backend.cuGraphAddEventRecordNode(
                  out, place.graph, place.dependencies, place.count, event);
            }
            case GraphNodeType.CONDITIONAL -> addConditional(out, place, source);
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
        case GraphNodeType.KERNEL ->
            backend.cuGraphExecKernelNodeSetParams_v2(exec, node, kernelParams(source));
        case GraphNodeType.MEMCPY ->
            backend.cuGraphExecMemcpyNodeSetParams(
                exec, node, BoxParams.writeCopy(owned, source, call.in()), context);
        case GraphNodeType.MEMSET ->
            backend.cuGraphExecMemsetNodeSetParams(
                exec, node, BoxParams.writeFill(owned, source, call.in()), context);
        case GraphNodeType.EVENT_WAIT ->
            backend.cuGraphExecEventWaitNodeSetEvent(exec, node, event(source));
        case GraphNodeType.EVENT_RECORD ->
            backend.cuGraphExecEventRecordNodeSetEvent(exec, node, event(source));
        case GraphNodeType.CONDITIONAL ->
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
    int attributes = source.i32(KernelWork.ATTRIBUTE_COUNT);
    long attribute = call.in();
    for (int i = 0; i < attributes && result == 0; i++) {
      long at = KernelWork.BYTES + (long) LaunchAttributeLayout.BYTES * i;
      if (LaunchAttribute.isUnknownToNodes(source.i32(at))) {
        continue;
      }
      result = LaunchAttribute.write(handles, owned, source, at, false, attribute);
      if (result == 0) {
        result =
            backend.cuGraphKernelNodeSetAttribute(
                Memory.getLong(out),
                Memory.getInt(attribute),
                attribute + LaunchAttributeLayout.VALUE);
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
        source.is(EventWork.BYTES)
            ? handles.events().get(source.i32(EventWork.EVENT))
            : SessionServices.NO_HANDLE;
    if (event == SessionServices.NO_HANDLE) {
      throw new RefusedException(CudaResult.INVALID_HANDLE);
    }
    return event;
  }

  /** A CUDA_KERNEL_NODE_PARAMS of what came. */
  private long kernelParams(WireStruct source) throws RefusedException {
    long lengthBytes = source.lengthBytes();
    int attributes = lengthBytes < KernelWork.BYTES ? -1 : source.i32(KernelWork.ATTRIBUTE_COUNT);
    int parameterBytes =
        lengthBytes < KernelWork.BYTES ? -1 : source.i32(KernelWork.PARAMETER_BYTES);
    boolean inBounds =
        attributes >= 0
            && attributes <= MAX_ATTRIBUTES
            && parameterBytes >= 0
            && parameterBytes <= lengthBytes;
    long fixed = KernelWork.BYTES + (long) LaunchAttributeLayout.BYTES * attributes;
    if (!inBounds || lengthBytes != fixed + WireStruct.padded(parameterBytes)) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    int number = source.i32(KernelWork.FUNCTION);
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
    long extra = params + KernelNodeLayout.BYTES;
    Memory.clear(params, KernelNodeLayout.BYTES + EXTRA_BYTES + 8);
    Memory.putLong(params, function);
    source.copyNumbers(KernelWork.GRID, SHAPE_BYTES, params + KernelNodeLayout.GRID_DIM_X);
    Memory.putLong(params + KernelNodeLayout.EXTRA, extra);
    Memory.putLong(extra, Launches.PARAM_BUFFER_POINTER);
    Memory.putLong(extra + 8, source.kernelParameters(fixed, parameterBytes));
    Memory.putLong(extra + 16, Launches.PARAM_BUFFER_SIZE);
    Memory.putLong(extra + 24, extra + EXTRA_BYTES);
    Memory.putLong(extra + EXTRA_BYTES, parameterBytes);
    return params;
  }
}
