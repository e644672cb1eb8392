// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.module;

import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.module.SoftFunction;
import io.gpupool.soft.device.module.SoftModule;
import io.gpupool.soft.ptx.VariableKind;
import io.gpupool.worker.soft.state.Handles;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A module and the handles given out for its functions; any thread may use it. */
final class LoadedModule {
  private final SoftModule module;
  private final Handles handles;
  private final Map<SoftFunction, Long> functionHandles = new HashMap<>();
  private final Map<Long, Long> referenceHandles = new HashMap<>();
  private final Map<SoftFunction, Long> nameAddresses = new HashMap<>();
  private final Arena names = Arena.ofShared();

  LoadedModule(SoftModule module, Handles handles) {
    this.module = module;
    this.handles = handles;
  }

  SoftModule module() {
    return module;
  }

  /** The handle of a function, the same at every asking. */
  synchronized long handle(SoftFunction function) {
    return functionHandles.computeIfAbsent(
        function, key -> handles.add(new LoadedFunction(key, this)));
  }

  /** The handles of all functions, in the order of the image. */
  List<Long> functionHandles() {
    List<Long> all = new ArrayList<>();
    module.functions().forEach(function -> all.add(handle(function)));
    return all;
  }

  /**
   * The handle of a texture or surface reference, the same at every asking.
   *
   * @throws GpuException NOT_FOUND
   */
  synchronized long reference(String name, VariableKind kind) {
    long symbol = module.reference(name, kind);
    return referenceHandles.computeIfAbsent(
        symbol, key -> handles.add(new LoadedReference(module.context(), key, kind)));
  }

  /** Address of a function's name, ended by a zero byte and valid until {@link #unload}. */
  synchronized long nameAddress(SoftFunction function) {
    return nameAddresses.computeIfAbsent(
        function, key -> names.allocateFrom(key.info().name()).address());
  }

  synchronized void unload() {
    functionHandles.values().forEach(handle -> handles.remove(handle, LoadedFunction.class));
    functionHandles.clear();
    referenceHandles.values().forEach(handle -> handles.remove(handle, LoadedReference.class));
    referenceHandles.clear();
    names.close();
    module.unload();
  }
}
