// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import io.gpupool.k8s.request.GpuRequest.Size;
import java.math.BigDecimal;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A reader of containers that have the counted resource alone, as the webhook or a user has written
 * it.
 */
final class GpuPercentParser {
  private static final int MOST = 100 * GpuRequest.MAX_GPUS;

  private GpuPercentParser() {}

  /**
   * Reads the request; empty if the container asks for nothing.
   *
   * @param earlier the annotation's request for this container; null: there is none
   * @param count the annotation's number of GPUs; null: there is none
   */
  static Optional<GpuRequest> read(
      Amounts amounts, @Nullable GpuRequest earlier, @Nullable Integer count)
      throws RefusedException {
    Optional<Integer> percent =
        amounts.whole(Names.GPU_PERCENT, MOST, "write hundredths of GPUs, such as 50.");
    if (percent.isEmpty()) {
      return Optional.empty();
    }
    if (earlier != null && fits(earlier, percent.get())) {
      return Optional.of(count == null ? earlier : earlier.withGpus(count));
    }
    if (count != null) {
      throw RefusedException.wrong(
          amounts.says(Names.GPU_PERCENT)
              + " and the annotation "
              + Names.GPU_COUNT
              + "; write how much of each GPU as "
              + Names.GPU
              + " with it, such as \"0.5\".");
    }
    int hundredths = percent.get();
    if (hundredths > 100 && hundredths % 100 != 0) {
      throw RefusedException.wrong(
          amounts.says(Names.GPU_PERCENT)
              + ", which is more than one GPU and no whole number of them; write "
              + Names.GPU
              + " for the part of each and the annotation "
              + Names.GPU_COUNT
              + " for how many.");
    }
    int gpus = Math.max(1, hundredths / 100);
    BigDecimal part = BigDecimal.valueOf(Math.min(100, hundredths)).movePointLeft(2);
    return Optional.of(new GpuRequest(gpus, new Size.Fraction(part), null));
  }

  /**
   * Returns whether the count fits the earlier request. For memory any count does, because GPUs may
   * have had another size when it was made.
   */
  private static boolean fits(GpuRequest earlier, int percent) {
    return earlier.countDependsOnGpu() || earlier.percent(1) == percent;
  }
}
