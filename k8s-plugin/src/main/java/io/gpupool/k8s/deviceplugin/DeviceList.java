// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import io.gpupool.k8s.deviceplugin.v1beta1.Device;
import io.gpupool.k8s.deviceplugin.v1beta1.ListAndWatchResponse;

/** The devices at one time: those with numbers below the count. */
record DeviceList(int count, boolean healthy) {
  static final int PER_GPU = 100;
  static final DeviceList NONE = new DeviceList(0, true);

  ListAndWatchResponse message() {
    ListAndWatchResponse.Builder message = ListAndWatchResponse.newBuilder();
    String health = healthy ? "Healthy" : "Unhealthy";
    for (int number = 0; number < count; number++) {
      message.addDevices(Device.newBuilder().setID(DeviceId.of(number)).setHealth(health));
    }
    return message.build();
  }

  @Override
  public String toString() {
    return count + (healthy ? " devices" : " devices, all unhealthy");
  }
}
