// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.inventory;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The GPUs whose kernels reach all memory of the process that launches them, by its address
 * (CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS). There a tenant's kernel can take over the worker.
 */
final class HostMemoryReach {
  private static final Pattern REACHING =
      Pattern.compile("ordinal=(\\d+) .*\\bhostMemory=1\\b.* name=(.*)");

  private HostMemoryReach() {}

  /** A warning for each such GPU in what a probe has printed. */
  static List<String> warnings(String probed) {
    return probed
        .lines()
        .map(REACHING::matcher)
        .filter(Matcher::matches)
        .map(gpu ->
            "kernels on GPU %s (%s) can read and write all memory of the worker that runs them: a tenant can take the worker over and is held by its sandbox alone; on cards with memory of their own, load nvidia-uvm with uvm_disable_hmm=1"
                .formatted(gpu.group(1), gpu.group(2)))
        .toList();
  }
}
