// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.graph;

import io.gpupool.cuda.ConditionalParamsLayout;
import io.gpupool.cuda.GraphNodeType;
import io.gpupool.cuda.NodeParamsLayout;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftCondition;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.graph.GraphOperation;
import io.gpupool.soft.device.graph.SoftGraph;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** A CUgraphNodeParams of a conditional node. The address of the bodies is an output. */
record ConditionalParams(SoftCondition condition, GraphOperation.Choice kind, int bodies) {
  /** The flag of a condition that launches begin with its default value. */
  static final int ASSIGN_DEFAULT = 1;

  private static final int HANDLE = NodeParamsLayout.WORK + ConditionalParamsLayout.HANDLE;
  private static final int KIND = NodeParamsLayout.WORK + ConditionalParamsLayout.TYPE;
  private static final int COUNT = NodeParamsLayout.WORK + ConditionalParamsLayout.SIZE;
  private static final int BODIES = NodeParamsLayout.WORK + ConditionalParamsLayout.GRAPHS;

  static ConditionalParams read(long params, SoftContext context) {
    if (Memory.getInt(params + NodeParamsLayout.TYPE) != GraphNodeType.CONDITIONAL) {
      throw new GpuException(
          CudaStatus.NOT_SUPPORTED, "node type " + Memory.getInt(params) + " by this call");
    }
    int kind = Memory.getInt(params + KIND);
    int bodies = Memory.getInt(params + COUNT);
    if (kind < 0 || kind >= GraphOperation.Choice.values().length) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "conditional node of type " + kind);
    }
    GraphOperation.Choice choice = GraphOperation.Choice.values()[kind];
    if (bodies < 1 || bodies > choice.maxBodies()) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "a conditional node " + choice + " of " + bodies + " bodies");
    }
    return new ConditionalParams(
        context.condition(Memory.getLong(params + HANDLE)), choice, bodies);
  }

  /** Tells the caller where the bodies' handles are. */
  static void putBodies(long params, MemorySegment handles) {
    Memory.putLong(params + BODIES, handles.address());
  }

  GraphOperation operation(List<SoftGraph> graphs) {
    return new GraphOperation.Conditional(condition, kind, graphs);
  }

  /** What a node does with this condition. */
  GraphOperation changed(GraphOperation before) {
    if (before instanceof GraphOperation.Conditional conditional
        && conditional.kind() == kind
        && conditional.bodies().size() == bodies) {
      return operation(conditional.bodies());
    }
    throw new GpuException(CudaStatus.INVALID_VALUE, "the node is another one");
  }
}
