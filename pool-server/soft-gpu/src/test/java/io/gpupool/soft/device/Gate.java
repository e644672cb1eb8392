// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.device.work.HostTask;
import org.jspecify.annotations.Nullable;

/** A host task that lasts until a test opens it. */
public final class Gate implements HostTask {
  private @Nullable Runnable done;

  @Override
  public void start(CudaStatus status, Runnable ending) {
    done = ending;
  }

  boolean isStarted() {
    return done != null;
  }

  void open() {
    requireNonNull(done).run();
  }
}
