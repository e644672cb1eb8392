// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The devices that the plugin advertises: those of the pool's healthy GPUs. While the pool is
 * unreachable, they stay the same for a while and then become unhealthy. Its owner lets one thread
 * in at a time.
 */
final class DeviceAdvertisement {
  private final int maxSeats;
  private final long patienceNanos;
  private DeviceList devices = DeviceList.NONE;
  private int everShown;
  private boolean lost;
  private long lostAtNanos;

  DeviceAdvertisement(int maxSeats, long patienceNanos) {
    this.maxSeats = maxSeats;
    this.patienceNanos = patienceNanos;
  }

  /** Returns the devices; none before the pool was ever known. */
  DeviceList seats() {
    return devices;
  }

  /**
   * Takes in a number of GPUs; returns whether anything changed.
   *
   * @param healthyGpus null: the pool is unreachable
   */
  boolean update(@Nullable Integer healthyGpus, long nowNanos) {
    DeviceList before = devices;
    if (healthyGpus != null) {
      lost = false;
      long wanted = Math.max(0L, healthyGpus) * DeviceList.PER_GPU;
      devices = new DeviceList((int) Math.min(wanted, maxSeats), true);
      everShown = Math.max(everShown, devices.count());
    } else {
      if (!lost) {
        lost = true;
        lostAtNanos = nowNanos;
      }
      if (nowNanos - lostAtNanos >= patienceNanos && devices.count() > 0) {
        devices = new DeviceList(devices.count(), false);
      }
    }
    return !devices.equals(before);
  }

  /**
   * Returns why a container cannot be given these devices; empty: it can. A device that was
   * advertised once stays valid: the kubelet may be about to hear that it is gone, and would fail
   * the pod for good.
   */
  Optional<String> objection(List<String> ids) {
    if (ids.isEmpty()) {
      return Optional.of("a container is to be given no device at all");
    }
    Set<String> named = new HashSet<>();
    for (String id : ids) {
      OptionalInt number = DeviceId.number(id);
      if (number.isEmpty() || number.getAsInt() >= everShown) {
        return Optional.of("'" + id + "' is no device of this plugin: " + range());
      }
      if (!named.add(id)) {
        return Optional.of("'" + id + "' is named twice for one container");
      }
    }
    return Optional.empty();
  }

  private String range() {
    return everShown == 0
        ? "it has had none, for the pool has not answered yet or has no healthy GPU"
        : "it has had " + DeviceId.of(0) + " to " + DeviceId.of(everShown - 1);
  }
}
