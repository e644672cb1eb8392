// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import io.gpupool.k8s.request.GpuRequest.Size;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A reader of {@code gpupool.io/gpu}, {@code -memory} and {@code -compute} of a container. */
final class GpuResourceParser {
  private static final BigDecimal HUNDRED = BigDecimal.valueOf(100);

  private GpuResourceParser() {}

  /** Reads the request; empty if the container asks for nothing. */
  static Optional<GpuRequest> read(Amounts amounts, @Nullable Integer count)
      throws RefusedException {
    Optional<Amounts.Written> gpu = amounts.asked(Names.GPU);
    Optional<Long> memory = memoryBytes(amounts);
    Optional<Integer> compute =
        amounts.whole(Names.GPU_COMPUTE, 100, "write the percent of each GPU's time, such as 30.");
    if (gpu.isEmpty() && memory.isEmpty() && compute.isEmpty()) {
      return Optional.empty();
    }
    if (amounts.isZero(Names.GPU)) {
      throw RefusedException.wrong(
          amounts.says(Names.GPU)
              + " and yet asks for "
              + (memory.isPresent() ? Names.GPU_MEMORY : Names.GPU_COMPUTE)
              + "; write how many GPUs, or leave all of them out.");
    }
    if (gpu.isEmpty() && memory.isEmpty()) {
      throw RefusedException.wrong(
          amounts.says(Names.GPU_COMPUTE)
              + " without saying how much memory; write "
              + Names.GPU
              + " or "
              + Names.GPU_MEMORY
              + ", too.");
    }
    BigDecimal number = gpu.map(Amounts.Written::value).orElse(BigDecimal.ONE);
    Size size =
        memory.isPresent()
            ? new Size.Memory(memory.get())
            : new Size.Fraction(fraction(amounts, number));
    return Optional.of(
        new GpuRequest(
            gpus(amounts, number, count, memory.isPresent()), size, compute.orElse(null)));
  }

  private static BigDecimal fraction(Amounts amounts, BigDecimal number) throws RefusedException {
    if (number.compareTo(BigDecimal.ONE) >= 0) {
      return BigDecimal.ONE;
    }
    if (number.compareTo(GpuRequest.MIN_FRACTION) < 0) {
      throw RefusedException.wrong(
          amounts.says(Names.GPU)
              + ", less than the smallest part of a GPU; write 0.01 or more, or "
              + Names.GPU_MEMORY
              + " for so many bytes.");
    }
    return number;
  }

  private static int gpus(
      Amounts amounts, BigDecimal number, @Nullable Integer count, boolean hasMemory)
      throws RefusedException {
    boolean whole = number.stripTrailingZeros().scale() <= 0;
    if (!whole && number.compareTo(BigDecimal.ONE) > 0) {
      throw RefusedException.wrong(amounts.says(Names.GPU) + severalParts(number));
    }
    if (!whole && hasMemory) {
      throw RefusedException.wrong(
          amounts.says(Names.GPU)
              + ", a part of a GPU's memory, and "
              + Names.GPU_MEMORY
              + " besides; write "
              + Names.GPU
              + ": 1 with it, and "
              + Names.GPU_COMPUTE
              + ": "
              + number.multiply(HUNDRED).setScale(0, RoundingMode.CEILING)
              + " for that part of its time.");
    }
    if (number.compareTo(BigDecimal.valueOf(GpuRequest.MAX_GPUS)) > 0) {
      throw RefusedException.wrong(
          amounts.says(Names.GPU)
              + "; a container can have at most "
              + GpuRequest.MAX_GPUS
              + " GPUs, so spread the work over several pods (and write bytes as "
              + Names.GPU_MEMORY
              + ").");
    }
    int written = whole ? number.intValueExact() : 1;
    if (written > 1 && count != null) {
      throw RefusedException.wrong(
          amounts.says(Names.GPU)
              + " and the annotation "
              + Names.GPU_COUNT
              + ", which says how many, too; leave one of them out.");
    }
    return Objects.requireNonNullElse(count, written);
  }

  /** Returns how to ask for a number of GPUs that is over one and not whole. */
  private static String severalParts(BigDecimal number) {
    if (number.compareTo(BigDecimal.valueOf(GpuRequest.MAX_GPUS)) > 0) {
      return ", which is no whole number; a container can have 1 to "
          + GpuRequest.MAX_GPUS
          + " GPUs.";
    }
    int gpus = number.setScale(0, RoundingMode.CEILING).intValueExact();
    BigDecimal each = number.divide(BigDecimal.valueOf(gpus), 2, RoundingMode.CEILING);
    return "; above 1 only whole numbers can be had, so for "
        + gpus
        + " GPUs with "
        + each
        + " of each write "
        + Names.GPU
        + ": \""
        + each
        + "\" and the annotation "
        + Names.GPU_COUNT
        + ": \""
        + gpus
        + "\".";
  }

  private static Optional<Long> memoryBytes(Amounts amounts) throws RefusedException {
    Optional<Amounts.Written> asked = amounts.asked(Names.GPU_MEMORY);
    if (asked.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        memoryBytes(amounts, Names.GPU_MEMORY, asked.get().value(), "write for example 8Gi."));
  }

  /** Checks a number of bytes of a GPU. */
  static long memoryBytes(Amounts amounts, String resource, BigDecimal bytes, String how)
      throws RefusedException {
    if (bytes.compareTo(BigDecimal.valueOf(GpuRequest.MIN_MEMORY_BYTES)) < 0) {
      throw RefusedException.wrong(
          amounts.says(resource) + ", which is less than 1 MiB of a GPU's memory; " + how);
    }
    if (bytes.compareTo(BigDecimal.valueOf(GpuRequest.MAX_MEMORY_BYTES)) > 0) {
      throw RefusedException.wrong(
          amounts.says(resource) + ", which is more than any GPU has; " + how);
    }
    if (bytes.stripTrailingZeros().scale() > 0) {
      throw RefusedException.wrong(
          amounts.says(resource) + ", which is no whole number of bytes; " + how);
    }
    return bytes.longValueExact();
  }
}
