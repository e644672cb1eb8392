// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.select.Selector;
import io.gpupool.wire.ByteSize;
import io.gpupool.wire.ClientHello;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The checked requirements of a lease request.
 *
 * @param gpus how many different GPUs
 * @param size memory of each
 * @param computeBasisPoints compute of each; null: the same fraction as the memory
 * @param selectors the GPUs that match
 * @param partition only partitions of this name
 * @param hard whether it never gets more compute than that, even if the rest is idle
 * @param spread whether to share GPUs and servers with as few others as possible
 * @param oneServer whether all GPUs must be on one server
 */
public record GpuRequirements(
    int gpus,
    Size size,
    @Nullable Integer computeBasisPoints,
    List<Selector> selectors,
    @Nullable String partition,
    boolean hard,
    boolean spread,
    boolean oneServer) {
  public static final int MAX_GPUS = 64;

  /** How the memory is asked for. */
  public sealed interface Size {
    /** A part of whatever GPU it is, over 0 to 1. */
    record Fraction(double part) implements Size {}

    record Memory(long bytes) implements Size {}
  }

  public GpuRequirements {
    selectors = List.copyOf(selectors);
  }

  GpuRequirements(
      int gpus,
      Size size,
      @Nullable Integer computeBasisPoints,
      List<Selector> selectors,
      @Nullable String partition,
      boolean hard) {
    this(gpus, size, computeBasisPoints, selectors, partition, hard, false, false);
  }

  /** From any part of any GPU. */
  public GpuRequirements(
      int gpus, Size size, @Nullable Integer computeBasisPoints, List<Selector> selectors) {
    this(gpus, size, computeBasisPoints, selectors, null, false);
  }

  /** Of how many servers the GPUs may be. */
  int maxServers() {
    return oneServer ? 1 : ClientHello.MAX_LINKS;
  }

  /**
   * What is asked of this offer, which may be more than it has. Fractions are of the GPU, and of
   * the partition where partitions are asked for.
   */
  Share shareOf(Offer offer) {
    return shareOf(partition != null ? offer.whole() : offer.gpu().whole());
  }

  /** What is asked of any offer is at least this. */
  Share least() {
    int compute =
        switch (size) {
          case Size.Fraction(double part) when partition == null ->
              fractionOf(part, Share.WHOLE_COMPUTE);
          default -> Share.MIN_COMPUTE;
        };
    long bytes = size instanceof Size.Memory(long wanted) ? wanted : 0;
    return new Share(bytes, Objects.requireNonNullElse(computeBasisPoints, compute));
  }

  public Share shareOf(Gpu gpu) {
    return shareOf(gpu.whole());
  }

  private Share shareOf(Share whole) {
    return switch (size) {
      case Size.Fraction(double part) ->
          new Share(
              part == 1 ? whole.memoryBytes() : wholeMegabytes((long) (part * whole.memoryBytes())),
              Objects.requireNonNullElse(
                  computeBasisPoints, fractionOf(part, whole.computeBasisPoints())));
      case Size.Memory(long bytes) ->
          new Share(
              bytes, Objects.requireNonNullElse(computeBasisPoints, proportional(bytes, whole)));
    };
  }

  private static int fractionOf(double part, int computeBasisPoints) {
    return Math.max(Share.MIN_COMPUTE, (int) Math.round(part * computeBasisPoints));
  }

  private static long wholeMegabytes(long bytes) {
    return Math.max(bytes & -Share.MIN_MEMORY_BYTES, Share.MIN_MEMORY_BYTES);
  }

  private static int proportional(long bytes, Share whole) {
    double part = Math.min(1, (double) bytes / whole.memoryBytes());
    return Math.max(Share.MIN_COMPUTE, (int) (part * whole.computeBasisPoints()));
  }

  /** Returns the selectors as people write them, in order. */
  List<String> selectorTexts() {
    return selectors.stream().map(Selector::text).sorted().toList();
  }

  /** How messages repeat it: {@code 1 GPU with 4.0 GiB}. */
  public String describe() {
    StringBuilder text = new StringBuilder(gpus == 1 ? "1 GPU" : gpus + " GPUs");
    switch (size) {
      case Size.Fraction(double part) -> {
        if (part == 1) {
          text.insert(0, gpus == 1 ? "all of " : "all of each of ");
        } else {
          text.append(" at ").append(part);
        }
      }
      case Size.Memory(long bytes) -> text.append(" with ").append(new ByteSize(bytes));
    }
    if (computeBasisPoints != null) {
      text.append(" and ").append(computeBasisPoints / 100.0).append(" % compute");
    }
    if (partition != null) {
      text.append(" of partition '").append(partition).append('\'');
    }
    if (!selectors.isEmpty()) {
      text.append(" where");
      selectorTexts().forEach(selector -> text.append(' ').append(selector));
    }
    if (spread) {
      text.append(", spread");
    }
    if (oneServer && gpus > 1) {
      text.append(", on one server");
    }
    return text.toString();
  }
}
