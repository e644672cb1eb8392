// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.exec.runtime.DeviceQueries;
import io.gpupool.soft.exec.runtime.RuntimeCallException;
import java.util.List;
import java.util.function.Supplier;

/** The answers to questions that kernels of a module may ask. Any thread may call it. */
final class ModuleQueries implements DeviceQueries {
  private final SoftModule module;

  ModuleQueries(SoftModule module) {
    this.module = module;
  }

  /**
   * The kernel that an address stands for.
   *
   * @throws RuntimeCallException INVALID_DEVICE_FUNCTION
   */
  SoftFunction function(long address) {
    return module
        .kernelAt(address)
        .orElseThrow(() ->
            new RuntimeCallException(
                RuntimeCallException.INVALID_DEVICE_FUNCTION,
                "no kernel of the module is at 0x" + Long.toHexString(address)));
  }

  private List<SoftDevice> visible() {
    return module.context().device().gpu().visible();
  }

  private static <T> T answer(Supplier<T> question) {
    try {
      return question.get();
    } catch (GpuException e) {
      throw new RuntimeCallException(e.status().code(), e.getMessage());
    }
  }

  @Override
  public int device() {
    return visible().indexOf(module.context().device());
  }

  @Override
  public int deviceCount() {
    return visible().size();
  }

  @Override
  public int attribute(int attribute, int device) {
    List<SoftDevice> visible = visible();
    if (device < 0 || device >= visible.size()) {
      throw new RuntimeCallException(
          RuntimeCallException.INVALID_DEVICE, "device " + device + " of " + visible.size());
    }
    return answer(() -> visible.get(device).attribute(attribute));
  }

  @Override
  public long limit(int limit) {
    return answer(() -> module.context().limits().get(limit));
  }

  @Override
  public int functionAttribute(long address, int attribute) {
    SoftFunction function = function(address);
    return answer(() -> function.attribute(attribute));
  }

  @Override
  public int blocksPerMultiprocessor(long address, int threads, long dynamicSharedBytes) {
    SoftFunction function = function(address);
    return answer(() -> Occupancy.blocksPerMultiprocessor(function, threads, dynamicSharedBytes));
  }

  @Override
  public long errorName(int error) {
    return module.context().runtimeMemory().errorName(error);
  }

  @Override
  public long errorText(int error) {
    return module.context().runtimeMemory().errorText(error);
  }
}
