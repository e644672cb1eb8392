// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.work;

import io.gpupool.soft.exec.launch.DeviceTime;

/** The action of a copy or fill. */
public interface Transfer {
  /** Does it; looks between pieces whether the device's time is over. */
  void run(DeviceTime time);
}
