// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import java.util.OptionalInt;

/** The state of the pool, as the pool reports it. For any thread; does not block. */
public interface PoolState {
  /** Empty: not known at the moment. */
  OptionalInt healthyGpus();

  /** Has the listener run after every change, on any thread, until the answer is closed. */
  Subscription onChange(Runnable listener);

  /** A listener's place. */
  interface Subscription extends AutoCloseable {
    @Override
    void close();
  }
}
