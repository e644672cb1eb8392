// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.Occupancy;
import io.gpupool.soft.device.SoftContext;
import io.gpupool.soft.device.SoftFunction;
import io.gpupool.soft.device.SoftModule;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.image.DeviceImage;
import io.gpupool.soft.ptx.ParamInfo;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.LoadedModule.LoadedFunction;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Driver calls about modules, their functions and variables, and occupancy. */
interface SoftModuleCalls extends SoftCalls {
  /** Longest name of a function or variable. */
  int MAX_NAME_BYTES = 64 << 10;

  /** A CUdevice_attribute. */
  int MULTIPROCESSOR_COUNT = 16;

  /** CUfunc_cache and CUsharedconfig have values below this. */
  int PREFERENCE_VALUES = 4;

  /** Images are read within their lengths. */
  @Override
  default boolean isSoundImage(long image, long imageBytes) {
    return true;
  }

  @Override
  default int loadModule(
      long module, long image, long imageBytes, int numOptions, long options, long optionValues) {
    JitOptions jit = new JitOptions(numOptions, options, optionValues);
    return call(() -> {
      SoftContext context = context();
      try {
        MemorySegment bytes = MemorySegment.ofAddress(image).reinterpret(imageBytes);
        DeviceImage parsed = DeviceImage.parse(bytes, context.device().computeCapability());
        LoadedModule loaded = new LoadedModule(context.loadModule(parsed), state().handles());
        Memory.putLong(module, state().handles().add(loaded));
        jit.writeInfoLog(parsed.unusable());
        jit.writeErrorLog("");
      } catch (GpuException e) {
        jit.writeInfoLog("");
        jit.writeError(e);
        throw e;
      }
    });
  }

  /** For trusted images: {@link #loadModule} does not believe the lengths written in them. */
  @Override
  default int cuModuleLoadDataEx(
      long module, long image, int numOptions, long options, long optionValues) {
    long[] length = {0};
    int result = call(() -> length[0] = ImageLength.of(image));
    return result == 0
        ? loadModule(module, image, length[0], numOptions, options, optionValues)
        : result;
  }

  @Override
  default int cuModuleUnload(long module) {
    return call(() -> {
      LoadedModule gone = state().handles().remove(module, LoadedModule.class);
      gone.unload();
      gone.module().context().requireUsable();
    });
  }

  @Override
  default boolean listsFunctions() {
    return true;
  }

  @Override
  default long moduleBytes(long module) {
    return state().handles().get(module, LoadedModule.class).module().occupiedBytes();
  }

  @Override
  default int cuModuleGetFunction(long function, long module, long name) {
    return call(() -> {
      LoadedModule owner = module(module);
      SoftFunction found = owner.module().function(Memory.text(name, MAX_NAME_BYTES));
      Memory.putLong(function, owner.handle(found));
    });
  }

  @Override
  default int cuModuleGetFunctionCount(long count, long module) {
    return call(() -> Memory.putInt(count, module(module).module().functions().size()));
  }

  @Override
  default int cuModuleEnumerateFunctions(long functions, int capacity, long module) {
    return call(() -> {
      List<Long> handles = module(module).functionHandles();
      for (int index = 0; index < Math.min(capacity, handles.size()); index++) {
        Memory.putLong(functions + 8L * index, handles.get(index));
      }
    });
  }

  @Override
  default int cuModuleGetGlobal_v2(long address, long bytes, long module, long name) {
    return call(() -> {
      SoftModule.Variable variable =
          module(module).module().variable(Memory.text(name, MAX_NAME_BYTES));
      if (address != 0) {
        Memory.putLong(address, variable.address());
      }
      if (bytes != 0) {
        Memory.putLong(bytes, variable.sizeBytes());
      }
    });
  }

  @Override
  default int cuFuncGetAttribute(long value, int attribute, long function) {
    return call(() -> Memory.putInt(value, function(function).attribute(attribute)));
  }

  @Override
  default int cuFuncSetAttribute(long function, int attribute, int value) {
    return call(() -> function(function).setAttribute(attribute, value));
  }

  @Override
  default int cuFuncSetCacheConfig(long function, int config) {
    return preference(function, config);
  }

  @Override
  default int cuFuncSetSharedMemConfig(long function, int config) {
    return preference(function, config);
  }

  @Override
  default int cuFuncGetName(long name, long function) {
    return call(() -> {
      LoadedFunction loaded = state().handles().get(function, LoadedFunction.class);
      Memory.putLong(name, loaded.module().nameAddress(loaded.function()));
    });
  }

  @Override
  default int cuFuncGetParamInfo(long function, long index, long offset, long size) {
    return call(() -> {
      List<ParamInfo> params = function(function).info().params();
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
  default int cuOccupancyMaxActiveBlocksPerMultiprocessor(
      long blocks, long function, int threads, long sharedBytes) {
    return call(() ->
        Memory.putInt(
            blocks, Occupancy.blocksPerMultiprocessor(function(function), threads, sharedBytes)));
  }

  @Override
  default int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      long blocks, long function, int threads, long sharedBytes, int flags) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, sharedBytes);
  }

  @Override
  default int cuOccupancyMaxPotentialClusterSize(long size, long function, long config) {
    return call(() -> {
      LaunchConfig.read(config);
      Memory.putInt(size, Occupancy.clusterBlocks(function(function)));
    });
  }

  @Override
  default int cuOccupancyMaxActiveClusters(long clusters, long function, long config) {
    return call(() -> {
      LaunchShape shape = LaunchConfig.read(config).shape();
      int multiprocessors = context().device().attribute(MULTIPROCESSOR_COUNT);
      Memory.putInt(clusters, Occupancy.activeClusters(function(function), shape, multiprocessors));
    });
  }

  @Override
  default int cuOccupancyAvailableDynamicSMemPerBlock(
      long bytes, long function, int blocks, int threads) {
    return call(() ->
        Memory.putLong(
            bytes, Occupancy.availableDynamicSharedBytes(function(function), blocks, threads)));
  }

  /** The function of a handle. */
  default SoftFunction function(long handle) {
    return state().handles().get(handle, LoadedFunction.class).function();
  }

  private LoadedModule module(long handle) {
    LoadedModule module = state().handles().get(handle, LoadedModule.class);
    module.module().context().requireUsable();
    return module;
  }

  private int preference(long function, int config) {
    return call(() -> {
      function(function);
      if (config < 0 || config >= PREFERENCE_VALUES) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "there is no preference " + config);
      }
    });
  }
}
