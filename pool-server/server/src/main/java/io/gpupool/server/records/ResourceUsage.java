// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.placement.Placement.Part;
import java.util.List;

/** The resources that a tenant holds, counted as its {@link Quota} is. */
public record ResourceUsage(long milliGpus, long memoryBytes, int leases) {
  public static final ResourceUsage NONE = new ResourceUsage(0, 0, 0);

  /** What one lease of these parts counts. */
  public static ResourceUsage of(List<Part> parts) {
    return new ResourceUsage(
        parts.stream().mapToLong(part -> milliGpus(part.gpu(), part.share())).sum(),
        parts.stream().mapToLong(part -> part.share().memoryBytes()).sum(),
        1);
  }

  /** The larger of its part of the memory and of the compute, rounded up. */
  public static int milliGpus(Gpu gpu, Share share) {
    double memory = (double) share.memoryBytes() / gpu.memoryBytes();
    double compute = (double) share.computeBasisPoints() / Share.WHOLE_COMPUTE;
    // Half of a GPU in whole MiB may be a little under half of it, never over.
    return (int) Math.ceil(Math.max(memory, compute) * 1000 - 1e-6);
  }

  public ResourceUsage plus(ResourceUsage other) {
    return new ResourceUsage(
        milliGpus + other.milliGpus, memoryBytes + other.memoryBytes, leases + other.leases);
  }

  public ResourceUsage minus(ResourceUsage other) {
    return new ResourceUsage(
        milliGpus - other.milliGpus, memoryBytes - other.memoryBytes, leases - other.leases);
  }
}
