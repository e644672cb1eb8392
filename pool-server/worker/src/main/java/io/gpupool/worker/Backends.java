// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import com.sun.management.OperatingSystemMXBean;
import io.gpupool.cuda.Backend;
import io.gpupool.soft.compile.cache.KernelCache;
import io.gpupool.soft.device.SoftGpu.MissingPtx;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.worker.soft.SoftBackend;
import java.lang.management.ManagementFactory;

/** A factory of the backend that a worker's options ask for. */
final class Backends {

  private Backends() {}

  /**
   * Makes and initialises it.
   *
   * @param kernels of the software GPU, compiled earlier
   * @throws DriverException if there is no NVIDIA driver, or it does not start
   * @throws IllegalArgumentException if the software GPUs asked for cannot be
   */
  static Backend open(WorkerOptions options, KernelCache kernels) throws DriverException {
    if (options.isSoft()) {
      DeviceSpec spec = DeviceSpec.parse(options.gpus(), hostMemoryBytes());
      return new SoftBackend(
          spec, options.skipMissingPtx() ? MissingPtx.SKIP : MissingPtx.FAIL, kernels);
    }
    if (!options.gpus().equals("all")) {
      throw new IllegalArgumentException(
          "--gpus is all or soft:N[,mem=SIZE][,cc=X.Y], not '" + options.gpus() + "'");
    }
    return NvidiaDriver.start(options.driver(), options.libnccl());
  }

  private static long hostMemoryBytes() {
    return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize();
  }
}
