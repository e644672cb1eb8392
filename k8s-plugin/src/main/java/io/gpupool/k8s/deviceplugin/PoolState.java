// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import java.util.OptionalInt;

/** State of the pool, as it reports it. For any thread; answers at once. */
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
