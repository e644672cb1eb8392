// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.cuda.FunctionCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.module.Occupancy;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.ptx.ParamInfo;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import java.util.List;

/** Driver calls about functions of modules: their attributes, parameters and occupancy. */
public final class SoftFunctionCalls extends SoftCalls implements FunctionCalls {
  /** A CUdevice_attribute. */
  private static final int MULTIPROCESSOR_COUNT = 16;

  /** CUfunc_cache and CUsharedconfig have values below this. */
  private static final int PREFERENCE_VALUES = 4;

  public SoftFunctionCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuFuncGetAttribute(long value, int attribute, long function) {
    return call(() ->
        Memory.putInt(
            value, LoadedFunction.find(state().handles(), function).attribute(attribute)));
  }

  @Override
  public int cuFuncSetAttribute(long function, int attribute, int value) {
    return call(
        () -> LoadedFunction.find(state().handles(), function).setAttribute(attribute, value));
  }

  @Override
  public int cuFuncSetCacheConfig(long function, int config) {
    return preference(function, config);
  }

  @Override
  public int cuFuncSetSharedMemConfig(long function, int config) {
    return preference(function, config);
  }

  @Override
  public int cuFuncGetName(long name, long function) {
    return call(() -> {
      LoadedFunction loaded = state().handles().get(function, LoadedFunction.class);
      Memory.putLong(name, loaded.module().nameAddress(loaded.function()));
    });
  }

  @Override
  public int cuFuncGetParamInfo(long function, long index, long offset, long size) {
    return call(() -> {
      List<ParamInfo> params = LoadedFunction.find(state().handles(), function).info().params();
      if (index < 0 || index >= params.size()) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "there is no parameter " + index);
      }
      ParamInfo param = params.get((int) index);
      Memory.putLong(offset, param.offsetBytes());
      if (size != 0) {
        Memory.putLong(size, param.sizeBytes());
      }
    });
  }

  @Override
  public int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      long blocks, long function, int threads, long sharedBytes, int flags) {
    return call(() ->
        Memory.putInt(
            blocks,
            Occupancy.blocksPerMultiprocessor(
                LoadedFunction.find(state().handles(), function), threads, sharedBytes)));
  }

  @Override
  public int cuOccupancyMaxPotentialClusterSize(long size, long function, long config) {
    return call(() -> {
      LaunchConfig.read(config);
      Memory.putInt(
          size, Occupancy.clusterBlocks(LoadedFunction.find(state().handles(), function)));
    });
  }

  @Override
  public int cuOccupancyMaxActiveClusters(long clusters, long function, long config) {
    return call(() -> {
      LaunchShape shape = LaunchConfig.read(config).shape();
      int multiprocessors = context().device().attribute(MULTIPROCESSOR_COUNT);
      Memory.putInt(
          clusters,
          Occupancy.activeClusters(
              LoadedFunction.find(state().handles(), function), shape, multiprocessors));
    });
  }

  @Override
  public int cuOccupancyAvailableDynamicSMemPerBlock(
      long bytes, long function, int blocks, int threads) {
    return call(() ->
        Memory.putLong(
            bytes,
            Occupancy.availableDynamicSharedBytes(
                LoadedFunction.find(state().handles(), function), blocks, threads)));
  }

  private int preference(long function, int config) {
    return call(() -> {
      LoadedFunction.find(state().handles(), function);
      if (config < 0 || config >= PREFERENCE_VALUES) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "there is no preference " + config);
      }
    });
  }
}
