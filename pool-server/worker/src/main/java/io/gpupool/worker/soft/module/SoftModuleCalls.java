// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.cuda.ModuleCalls;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.module.SoftFunction;
import io.gpupool.soft.device.module.SoftModule;
import io.gpupool.soft.image.DeviceImage;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Driver calls about modules, their functions and variables. */
public final class SoftModuleCalls extends SoftCalls implements ModuleCalls {
  /** Longest name of a function or variable. */
  static final int MAX_NAME_BYTES = 64 << 10;

  public SoftModuleCalls(SoftState state) {
    super(state);
  }

  public int loadModule(
      long module, long image, long imageBytes, int numOptions, long options, long optionValues) {
    JitOptions jit = new JitOptions(numOptions, options, optionValues);
    return call(() -> {
      SoftContext context = context();
      try {
        MemorySegment bytes = MemorySegment.ofAddress(image).reinterpret(imageBytes);
        DeviceImage parsed = DeviceImage.parse(bytes, context.device().computeCapability());
        LoadedModule loaded = new LoadedModule(SoftModule.load(context, parsed), state().handles());
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
  public int cuModuleLoadDataEx(
      long module, long image, int numOptions, long options, long optionValues) {
    long[] length = {0};
    int result = call(() -> length[0] = ImageLength.of(image));
    return result == 0
        ? loadModule(module, image, length[0], numOptions, options, optionValues)
        : result;
  }

  @Override
  public int cuModuleUnload(long module) {
    return call(() -> {
      LoadedModule gone = state().handles().remove(module, LoadedModule.class);
      gone.unload();
      gone.module().context().requireUsable();
    });
  }

  public long moduleBytes(long module) {
    return state().handles().get(module, LoadedModule.class).module().occupiedBytes();
  }

  @Override
  public int cuModuleGetFunction(long function, long module, long name) {
    return call(() -> {
      LoadedModule owner = module(module);
      SoftFunction found = owner.module().function(Memory.text(name, MAX_NAME_BYTES));
      Memory.putLong(function, owner.handle(found));
    });
  }

  @Override
  public int cuModuleGetFunctionCount(long count, long module) {
    return call(() -> Memory.putInt(count, module(module).module().functions().size()));
  }

  @Override
  public int cuModuleEnumerateFunctions(long functions, int capacity, long module) {
    return call(() -> {
      List<Long> handles = module(module).functionHandles();
      for (int index = 0; index < Math.min(capacity, handles.size()); index++) {
        Memory.putLong(functions + 8L * index, handles.get(index));
      }
    });
  }

  @Override
  public int cuModuleGetGlobal_v2(long address, long bytes, long module, long name) {
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

  private LoadedModule module(long handle) {
    LoadedModule module = state().handles().get(handle, LoadedModule.class);
    module.module().context().requireUsable();
    return module;
  }
}
