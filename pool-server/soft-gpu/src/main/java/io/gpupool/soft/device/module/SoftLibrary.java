// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.image.DeviceImage;
import io.gpupool.soft.ptx.KernelInfo;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * An image that belongs to no context: it becomes a module in each context that uses it. Any thread
 * may call it.
 */
public final class SoftLibrary {
  private final DeviceImage image;
  private final Map<SoftContext, SoftModule> modules = new LinkedHashMap<>();
  private final Map<String, Map<Integer, Integer>> attributes = new HashMap<>();
  private boolean unloaded;

  /** Wraps an image; nothing is loaded yet. */
  public SoftLibrary(DeviceImage image) {
    this.image = image;
  }

  /** All kernels, in the order of the image. */
  public List<KernelInfo> kernels() {
    return image.kernels();
  }

  /**
   * A kernel by its (mangled) name.
   *
   * @throws GpuException NOT_FOUND
   */
  public KernelInfo kernel(String name) {
    for (KernelInfo kernel : image.kernels()) {
      if (kernel.name().equals(name)) {
        return kernel;
      }
    }
    throw new GpuException(CudaStatus.NOT_FOUND, "the library has no kernel '" + name + "'");
  }

  /** The library as a module of a context; loaded at the first asking. */
  public synchronized SoftModule module(SoftContext context) {
    if (unloaded) {
      throw new GpuException(CudaStatus.INVALID_HANDLE, "the library is unloaded");
    }
    context.requireUsable();
    SoftModule module = modules.get(context);
    if (module == null) {
      modules.keySet().removeIf(SoftContext::isDestroyed);
      module = SoftModule.load(context, image);
      modules.put(context, module);
      for (SoftFunction function : module.functions()) {
        attributes.getOrDefault(function.info().name(), Map.of()).forEach(function::setAttribute);
      }
    }
    return module;
  }

  /** Sets a function attribute of a kernel in every context, present and future. */
  public synchronized void setAttribute(String kernel, int attribute, int value) {
    for (SoftModule module : modules.values()) {
      module.function(kernel).setAttribute(attribute, value);
    }
    attributes.computeIfAbsent(kernel, name -> new HashMap<>()).put(attribute, value);
  }

  /** Unloads it from all contexts. */
  public synchronized void unload() {
    if (unloaded) {
      throw new GpuException(CudaStatus.INVALID_HANDLE, "the library is unloaded");
    }
    unloaded = true;
    modules.forEach((context, module) -> {
      if (!context.isDestroyed()) {
        module.unload();
      }
    });
    modules.clear();
  }
}
