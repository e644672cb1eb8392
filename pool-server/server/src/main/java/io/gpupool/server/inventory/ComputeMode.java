// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.inventory;

import io.gpupool.server.driver.DriverOptions.Sharing;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The compute mode of GPUs (CU_DEVICE_ATTRIBUTE_COMPUTE_MODE), which may keep workers from them: a
 * driver would refuse each context after the first.
 */
final class ComputeMode {
  private static final int PROHIBITED = 2;
  private static final int EXCLUSIVE_PROCESS = 3;
  private static final Pattern GPU =
      Pattern.compile("ordinal=(\\d+) .*\\bcomputeMode=([0-9]+)\\b.* name=.*");

  private ComputeMode() {}

  /** Why the first such GPU in what a probe has printed cannot be served. */
  static Optional<String> refusal(String probed, Sharing sharing) {
    for (String line : probed.lines().toList()) {
      Matcher gpu = GPU.matcher(line);
      int mode = gpu.matches() ? Integer.parseInt(gpu.group(2)) : 0;
      if (mode == PROHIBITED) {
        return Optional.of(
            "GPU " + gpu.group(1) + " is in compute mode Prohibited; nvidia-smi -c 0 sets Default");
      }
      if (mode == EXCLUSIVE_PROCESS && sharing != Sharing.mps) {
        return Optional.of(
            "GPU "
                + gpu.group(1)
                + " is in compute mode Exclusive_Process, in which one worker alone could use it:"
                + " nvidia-smi -c 0 sets Default; or serve it with --sharing mps");
      }
    }
    return Optional.empty();
  }
}
