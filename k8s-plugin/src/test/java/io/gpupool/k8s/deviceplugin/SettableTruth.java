// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CopyOnWriteArrayList;

/** A pool that is as a test says. */
final class SettableTruth implements PoolState {
  private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
  private volatile OptionalInt gpus;

  SettableTruth(OptionalInt gpus) {
    this.gpus = gpus;
  }

  void set(OptionalInt now) {
    gpus = now;
    listeners.forEach(Runnable::run);
  }

  int listeners() {
    return listeners.size();
  }

  @Override
  public OptionalInt healthyGpus() {
    return gpus;
  }

  @Override
  public Subscription onChange(Runnable listener) {
    listeners.add(listener);
    return () -> listeners.remove(listener);
  }
}
