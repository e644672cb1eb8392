// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.LaunchCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.Dim3;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.module.SoftFunction;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.ptx.ParamInfo;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.context.SoftStreamCalls;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Driver calls that launch kernels. */
public final class SoftLaunchCalls extends SoftCalls implements LaunchCalls {
  public SoftLaunchCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuLaunchKernel(
      long function,
      int gridX,
      int gridY,
      int gridZ,
      int blockX,
      int blockY,
      int blockZ,
      int sharedBytes,
      long stream,
      long params,
      long extra) {
    Dim3 grid = new Dim3(gridX, gridY, gridZ);
    Dim3 block = new Dim3(blockX, blockY, blockZ);
    LaunchShape shape = new LaunchShape(grid, block, sharedBytes, false);
    return call(() -> launch(function, shape, stream, params, extra));
  }

  @Override
  public int cuLaunchCooperativeKernel(
      long function,
      int gridX,
      int gridY,
      int gridZ,
      int blockX,
      int blockY,
      int blockZ,
      int sharedBytes,
      long stream,
      long params) {
    Dim3 grid = new Dim3(gridX, gridY, gridZ);
    Dim3 block = new Dim3(blockX, blockY, blockZ);
    LaunchShape shape = new LaunchShape(grid, block, sharedBytes, true);
    return call(() -> launch(function, shape, stream, params, 0));
  }

  @Override
  public int cuLaunchKernelEx(long config, long function, long params, long extra) {
    return call(() -> {
      LaunchConfig parsed = LaunchConfig.read(config);
      launch(function, parsed.shape(), parsed.stream(), params, extra);
    });
  }

  /** Not supported: sessions use {@link SoftStreamCalls#launchHostTask}. */
  @Override
  public int cuLaunchHostFunc(long stream, long function, long userData) {
    return CudaResult.NOT_SUPPORTED;
  }

  private void launch(long function, LaunchShape shape, long stream, long params, long extra) {
    SoftFunction target = LoadedFunction.find(state().handles(), function);
    target.launch(stream(stream), shape, parameterBlock(target, params, extra));
  }

  private static MemorySegment parameterBlock(SoftFunction function, long params, long extra) {
    if (extra != 0) {
      if (params != 0) {
        throw new GpuException(
            CudaStatus.INVALID_VALUE, "parameters are given both one by one and packed");
      }
      return PackedParameters.read(extra);
    }
    List<ParamInfo> layout = function.info().params();
    if (layout.isEmpty()) {
      return MemorySegment.NULL;
    }
    if (params == 0) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "kernel " + function.info().name() + " needs parameters");
    }
    byte[] block = new byte[function.info().paramBytes()];
    MemorySegment target = MemorySegment.ofArray(block);
    for (int index = 0; index < layout.size(); index++) {
      ParamInfo param = layout.get(index);
      long source = Memory.getLong(params + 8L * index);
      if (source == 0) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "parameter " + index + " is missing");
      }
      MemorySegment value = MemorySegment.ofAddress(source).reinterpret(param.sizeBytes());
      MemorySegment.copy(value, 0, target, param.offsetBytes(), param.sizeBytes());
    }
    return target;
  }
}
