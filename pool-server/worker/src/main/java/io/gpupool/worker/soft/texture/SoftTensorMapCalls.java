// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.texture;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.TensorMapCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.tensor.TensorMap;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import java.lang.foreign.MemorySegment;

/** Driver calls that make tensor maps; those of im2col are not supported. */
public final class SoftTensorMapCalls extends SoftCalls implements TensorMapCalls {
  /** CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED. */
  private static final int TENSOR_MAP_ACCESS = 127;

  public SoftTensorMapCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuTensorMapEncodeTiled(
      long tensorMap,
      int dataType,
      int rank,
      long globalAddress,
      long globalDim,
      long globalStrides,
      long boxDim,
      long elementStrides,
      int interleave,
      int swizzle,
      int l2Promotion,
      int oobFill) {
    return call(() -> {
      if (context().device().attribute(TENSOR_MAP_ACCESS) == 0) {
        throw new GpuException(
            CudaStatus.NOT_SUPPORTED, "tensor maps begin with compute capability 9.0");
      }
      TensorMap.Tiled tiled =
          new TensorMap.Tiled(
              dataType,
              globalAddress,
              new TensorMap.Shape(longs(globalDim, rank), longs(globalStrides, rank - 1)),
              new TensorMap.Box(ints(boxDim, rank), ints(elementStrides, rank)),
              interleave,
              swizzle,
              l2Promotion,
              oobFill);
      TensorMap.of(tiled).write(bytes(tensorMap));
    });
  }

  @Override
  public int cuTensorMapReplaceAddress(long tensorMap, long globalAddress) {
    return call(() -> {
      TensorMap map =
          TensorMap.read(bytes(tensorMap))
              .orElseThrow(
                  () -> new GpuException(CudaStatus.INVALID_VALUE, "this is no tensor map"));
      map.at(globalAddress).write(bytes(tensorMap));
    });
  }

  @Override
  public int cuTensorMapEncodeIm2col(
      long tensorMap,
      int tensorDataType,
      int tensorRank,
      long globalAddress,
      long globalDim,
      long globalStrides,
      long pixelBoxLowerCorner,
      long pixelBoxUpperCorner,
      int channelsPerPixel,
      int pixelsPerColumn,
      long elementStrides,
      int interleave,
      int swizzle,
      int l2Promotion,
      int oobFill) {
    return CudaResult.NOT_SUPPORTED;
  }

  @Override
  public int cuTensorMapEncodeIm2colWide(
      long tensorMap,
      int tensorDataType,
      int tensorRank,
      long globalAddress,
      long globalDim,
      long globalStrides,
      int pixelBoxLowerCornerWidth,
      int pixelBoxUpperCornerWidth,
      int channelsPerPixel,
      int pixelsPerColumn,
      long elementStrides,
      int interleave,
      int mode,
      int swizzle,
      int l2Promotion,
      int oobFill) {
    return CudaResult.NOT_SUPPORTED;
  }

  private static MemorySegment bytes(long tensorMap) {
    return MemorySegment.ofAddress(tensorMap).reinterpret(TensorMap.BYTES);
  }

  private static long[] longs(long at, int count) {
    long[] values = new long[count];
    for (int i = 0; i < count; i++) {
      values[i] = Memory.getLong(at + 8L * i);
    }
    return values;
  }

  private static int[] ints(long at, int count) {
    int[] values = new int[count];
    for (int i = 0; i < count; i++) {
      values[i] = Memory.getInt(at + 4L * i);
    }
    return values;
  }
}
