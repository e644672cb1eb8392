// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rejection;

import io.gpupool.control.v1.RejectionReason.GpuPart;
import io.gpupool.control.v1.RejectionReason.LeaseShare;
import io.gpupool.control.v1.RejectionReason.PartitionShare;
import io.gpupool.wire.ByteSize;
import io.gpupool.wire.ComputePercent;

/** The phrases for parts of GPUs and the leases on them. */
final class GpuText {
  private GpuText() {}

  /** Returns the name, such as {@code partition 'a' of GPU 0 of host}. */
  static String label(GpuPart part) {
    return (part.getPartition().isEmpty() ? "" : "partition '" + part.getPartition() + "' of ")
        + "GPU "
        + part.getGpu()
        + " of "
        + part.getServer();
  }

  /** Returns the name with model, memory and compute capability. */
  static String description(GpuPart part) {
    return label(part)
        + ": "
        + part.getGpuName()
        + ", "
        + new ByteSize(part.getMemoryBytes())
        + ", cc "
        + part.getComputeCapability();
  }

  /** Returns how much it is. */
  static String share(GpuPart part) {
    return share(part.getMemoryBytes(), part.getComputePercent());
  }

  /** Returns a lease, with its holder if the caller may see it. */
  static String holder(LeaseShare lease) {
    String holder =
        switch (lease.getVisibility()) {
          case VISIBILITY_FULL -> lease.getHolder();
          case VISIBILITY_OTHER_NAMESPACE -> "not of this namespace";
          case VISIBILITY_OTHER_TENANT, VISIBILITY_UNSPECIFIED, UNRECOGNIZED -> "another tenant's";
        };
    return "lease "
        + lease.getLeaseId()
        + " ("
        + holder
        + ", "
        + share(lease.getMemoryBytes(), lease.getComputePercent())
        + ")";
  }

  /** Returns a partition and its share of a GPU, without the name if the caller may not see it. */
  static String reservation(PartitionShare partition) {
    return share(partition.getMemoryBytes(), partition.getComputePercent())
        + " reserved for "
        + (partition.getPartition().isEmpty()
            ? "a partition of another tenant"
            : "partition '" + partition.getPartition() + "'");
  }

  private static String share(long memoryBytes, double computePercent) {
    return new ByteSize(memoryBytes) + " and " + new ComputePercent(computePercent);
  }
}
