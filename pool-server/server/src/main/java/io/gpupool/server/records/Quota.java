// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.rejection.QuotaLimit;
import io.gpupool.wire.ByteSize;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The quota of a tenant: what it may hold at a time. What is null limits nothing.
 *
 * @param milliGpus thousandths of a GPU, fractions counting as such
 */
public record Quota(
    @Nullable Long milliGpus,
    @Nullable Long memoryBytes,
    @Nullable Integer leases,
    @Nullable Integer maxPriority) {
  public static final Quota UNLIMITED = new Quota(null, null, null, null);

  public String describe() {
    StringBuilder text = new StringBuilder();
    if (milliGpus != null) {
      text.append(milliGpus / 1000.0).append(" GPUs ");
    }
    if (memoryBytes != null) {
      text.append(new ByteSize(memoryBytes)).append(' ');
    }
    if (leases != null) {
      text.append(leases).append(" leases ");
    }
    if (maxPriority != null) {
      text.append("priority ").append(maxPriority);
    }
    return text.isEmpty() ? "no limits" : text.toString().strip();
  }

  /** Returns the limit by which a tenant may not hold this much; empty if it may. */
  public Optional<QuotaLimit> exceededBy(ResourceUsage use) {
    if (leases != null && use.leases() > leases) {
      return Optional.of(new QuotaLimit.Leases(leases));
    }
    if (memoryBytes != null && use.memoryBytes() > memoryBytes) {
      return Optional.of(new QuotaLimit.Memory(memoryBytes));
    }
    if (milliGpus != null && use.milliGpus() > milliGpus) {
      return Optional.of(new QuotaLimit.Gpus(milliGpus / 1000.0));
    }
    return Optional.empty();
  }
}
