// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.device.work.HostTask;

/** A host task that lasts until a test opens it. */
final class Gate implements HostTask {
  private Runnable done;

  @Override
  public void start(CudaStatus status, Runnable ending) {
    done = ending;
  }

  boolean isStarted() {
    return done != null;
  }

  void open() {
    done.run();
  }
}
