// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.graph;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.graph.GraphOperation;
import io.gpupool.soft.device.module.SoftFunction;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.module.LaunchConfig;
import io.gpupool.worker.soft.module.PackedParameters;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Operations of nodes out of the driver's structs.
 *
 * <pre>
 * CUDA_KERNEL_NODE_PARAMS              CUDA_MEMSET_NODE_PARAMS
 *  0 u64 function                       0 u64 address   8 u64 pitch
 *  8 u32 grid x, y, z  20 u32 block     16 u32 value   20 u32 element bytes
 * 32 u32 dynamic shared bytes           24 u64 width   32 u64 height
 * 40 u64 parameters    48 u64 extra
 *
 * CUDA_MEMCPY3D: source, then target the same way 88 bytes on, then width, height, depth
 *  0 u64 x in bytes, y, z, level   32 u32 memory type   40 u64 host   48 u64 device   56 u64 array
 * 64 u64 reserved   72 u64 pitch   80 u64 height
 * </pre>
 */
final class GraphParams {
  private static final int SIDE_BYTES = 88;
  private static final int MEMORY_TYPE_DEVICE = 2;
  private static final int COOPERATIVE = 2;
  private static final int CLUSTER_DIMENSION = 4;

  private GraphParams() {}

  static GraphOperation.Kernel kernel(SoftFunction function, long params) {
    LaunchShape shape =
        new LaunchShape(
            LaunchConfig.dim3(params + 8),
            LaunchConfig.dim3(params + 20),
            Memory.getInt(params + 32),
            false);
    MemorySegment block = PackedParameters.read(Memory.getLong(params + 48));
    return new GraphOperation.Kernel(
        function,
        shape,
        block.byteSize() == 0 ? new byte[0] : block.toArray(ValueLayout.JAVA_BYTE));
  }

  static GraphOperation.Kernel withAttribute(
      GraphOperation.Kernel kernel, int attribute, long value) {
    // The others are hints on scheduling and caches, which may be passed over.
    return switch (attribute) {
      case CLUSTER_DIMENSION ->
          with(kernel, kernel.shape().inClusters(LaunchConfig.cluster(value)));
      case COOPERATIVE -> cooperative(kernel, Memory.getInt(value) != 0);
      default -> kernel;
    };
  }

  static GraphOperation.Kernel cooperative(GraphOperation.Kernel kernel, boolean cooperative) {
    return with(kernel, kernel.shape().cooperative(cooperative));
  }

  private static GraphOperation.Kernel with(GraphOperation.Kernel kernel, LaunchShape shape) {
    return new GraphOperation.Kernel(kernel.function(), shape, kernel.params());
  }

  static GraphOperation.Copy copy(SoftContext context, long params) {
    long extent = params + 2L * SIDE_BYTES;
    return new GraphOperation.Copy(
        context,
        side(params + SIDE_BYTES),
        side(params),
        Memory.getLong(extent),
        Memory.getLong(extent + 8),
        Memory.getLong(extent + 16));
  }

  static GraphOperation.Fill fill(SoftContext context, long params) {
    return new GraphOperation.Fill(
        context,
        Memory.getLong(params),
        Memory.getLong(params + 8),
        Memory.getInt(params + 16),
        Memory.getInt(params + 20),
        Memory.getLong(params + 24),
        Memory.getLong(params + 32));
  }

  private static GraphOperation.Side side(long at) {
    if (Memory.getInt(at + 32) != MEMORY_TYPE_DEVICE) {
      throw new GpuException(
          CudaStatus.NOT_SUPPORTED, "a graph copies between linear memory of devices only");
    }
    long pitch = Memory.getLong(at + 72);
    long slice = pitch * Memory.getLong(at + 80);
    long first =
        Memory.getLong(at + 48)
            + Memory.getLong(at + 16) * slice
            + Memory.getLong(at + 8) * pitch
            + Memory.getLong(at);
    return new GraphOperation.Side(first, pitch, slice);
  }
}
