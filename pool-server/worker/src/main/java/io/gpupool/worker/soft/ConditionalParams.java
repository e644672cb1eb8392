// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftCondition;
import io.gpupool.soft.device.SoftContext;
import io.gpupool.soft.device.graph.GraphOperation;
import io.gpupool.soft.device.graph.SoftGraph;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A CUgraphNodeParams of a conditional node.
 *
 * <pre>
 *  0 u32 CUgraphNodeType   16 u64 handle   24 u32 CUgraphConditionalNodeType   28 u32 bodies
 * 32 u64 address of the bodies, an output   40 u64 context
 * </pre>
 */
record ConditionalParams(SoftCondition condition, GraphOperation.Choice kind, int bodies) {
  /** The flag of a condition that launches begin with its default value. */
  static final int ASSIGN_DEFAULT = 1;

  private static final int CONDITIONAL = 13;
  private static final int BODIES = 32;

  static ConditionalParams read(long params, SoftContext context) {
    if (Memory.getInt(params) != CONDITIONAL) {
      throw new GpuException(
          CudaStatus.NOT_SUPPORTED, "node type " + Memory.getInt(params) + " by this call");
    }
    int kind = Memory.getInt(params + 24);
    int bodies = Memory.getInt(params + 28);
    if (kind < 0 || kind >= GraphOperation.Choice.values().length) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "conditional node of type " + kind);
    }
    GraphOperation.Choice choice = GraphOperation.Choice.values()[kind];
    if (bodies < 1 || bodies > choice.maxBodies()) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "a conditional node " + choice + " of " + bodies + " bodies");
    }
    return new ConditionalParams(context.condition(Memory.getLong(params + 16)), choice, bodies);
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
