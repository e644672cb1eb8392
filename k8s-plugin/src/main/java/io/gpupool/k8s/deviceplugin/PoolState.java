// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import java.util.OptionalInt;

/** The state of the pool, as the pool reports it. For any thread; does not block. */
public interface PoolState {
  /** Returns the number of healthy GPUs; empty: not known at the moment. */
  OptionalInt healthyGpus();

  /** Runs the listener after every change, on any thread, until the subscription is closed. */
  Subscription onChange(Runnable listener);

  /** The registration of a listener. */
  interface Subscription extends AutoCloseable {
    @Override
    void close();
  }
}
