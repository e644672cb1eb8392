// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.options;

import io.gpupool.server.driver.DriverOptions;
import io.gpupool.server.gpu.GpuSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The GPUs that a pool server serves.
 *
 * @param spec the selection of GPUs
 * @param driver NVIDIA's driver, where its GPUs are served
 * @param softMissingPtx the way of the software GPU with a kernel that has no PTX
 * @param labels the operator's labels of the GPUs, by which requests select
 */
public record GpuOptions(
    GpuSpec spec, DriverOptions driver, MissingPtx softMissingPtx, Map<String, String> labels) {
  private static final Pattern LABEL = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._/-]{0,62}");

  /** The outcomes of a launch on the software GPU when the image has no PTX. */
  public enum MissingPtx {
    fail,
    skip
  }

  public GpuOptions {
    labels = Map.copyOf(labels);
    labels.forEach(GpuOptions::checkLabel);
  }

  /** Returns the options that select a worker's backend. */
  public List<String> backendArguments(GpuSpec served) {
    List<String> arguments = new ArrayList<>(List.of("--gpus", served.text()));
    arguments.addAll(driver.arguments());
    arguments.add("--soft-missing-ptx=" + softMissingPtx);
    return arguments;
  }

  private static void checkLabel(String key, String value) {
    if (!LABEL.matcher(key).matches() || !LABEL.matcher(value).matches()) {
      throw new IllegalArgumentException(
          "--label " + key + "=" + value + ": give letters, digits, - _ . and /, at most 63 each");
    }
  }
}
