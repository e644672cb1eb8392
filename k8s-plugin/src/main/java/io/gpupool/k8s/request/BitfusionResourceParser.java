// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import io.gpupool.k8s.request.GpuRequest.Size;
import java.math.BigDecimal;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A reader of {@code bitfusion.io/gpu-amount}, {@code -percent} and {@code -memory} of a container.
 */
final class BitfusionResourceParser {
  private static final BigDecimal MEGABYTE = BigDecimal.valueOf(1_000_000);
  private static final String HOW = "write for example 8000M.";

  private BitfusionResourceParser() {}

  /** Reads the request; empty if the container asks for nothing. */
  static Optional<GpuRequest> read(Amounts amounts, @Nullable Integer count, List<String> warnings)
      throws RefusedException {
    Optional<Integer> gpus =
        amounts.whole(Names.BITFUSION_AMOUNT, GpuRequest.MAX_GPUS, "write how many GPUs.");
    Optional<Integer> percent =
        amounts.whole(Names.BITFUSION_PERCENT, 100, "write the percent of each GPU, such as 50.");
    Optional<Amounts.Written> memory = amounts.asked(Names.BITFUSION_MEMORY);
    if (gpus.isEmpty()) {
      if (percent.isEmpty() && memory.isEmpty()) {
        return Optional.empty();
      }
      throw RefusedException.wrong(
          amounts.says(memory.isPresent() ? Names.BITFUSION_MEMORY : Names.BITFUSION_PERCENT)
              + " without a number of GPUs; write "
              + Names.BITFUSION_AMOUNT
              + ": 1, too.");
    }
    if (count != null) {
      throw RefusedException.wrong(
          amounts.says(Names.BITFUSION_AMOUNT)
              + " and the annotation "
              + Names.GPU_COUNT
              + ", which says how many, too; leave one of them out.");
    }
    if (percent.isPresent() && memory.isPresent()) {
      warnings.add(
          amounts.says(Names.BITFUSION_PERCENT)
              + ", which does not count beside "
              + Names.BITFUSION_MEMORY);
    }
    Size size =
        memory.isPresent()
            ? new Size.Memory(memoryBytes(amounts, memory.get().value()))
            : new Size.Fraction(BigDecimal.valueOf(percent.orElse(100)).movePointLeft(2));
    return Optional.of(new GpuRequest(gpus.get(), size, null));
  }

  /**
   * Converts an amount to bytes. Bitfusion's webhook last took bytes ({@code 8000M}), and earlier a
   * number of megabytes; neither makes sense of the other's numbers.
   */
  private static long memoryBytes(Amounts amounts, BigDecimal written) throws RefusedException {
    BigDecimal bytes = written.compareTo(MEGABYTE) < 0 ? written.multiply(MEGABYTE) : written;
    return GpuResourceParser.memoryBytes(amounts, Names.BITFUSION_MEMORY, bytes, HOW);
  }
}
