// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.rejection.QuotaLimit;
import io.gpupool.wire.ByteSize;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * The quota of a tenant: what it may hold at a time. What is empty limits nothing.
 *
 * @param milliGpus thousandths of a GPU, fractions counting as such
 */
public record Quota(
    OptionalLong milliGpus, OptionalLong memoryBytes, OptionalInt leases, OptionalInt maxPriority) {
  public static final Quota UNLIMITED =
      new Quota(
          OptionalLong.empty(), OptionalLong.empty(), OptionalInt.empty(), OptionalInt.empty());

  public String describe() {
    StringBuilder text = new StringBuilder();
    milliGpus.ifPresent(millis -> text.append(millis / 1000.0).append(" GPUs "));
    memoryBytes.ifPresent(bytes -> text.append(new ByteSize(bytes)).append(' '));
    leases.ifPresent(count -> text.append(count).append(" leases "));
    maxPriority.ifPresent(priority -> text.append("priority ").append(priority));
    return text.isEmpty() ? "no limits" : text.toString().strip();
  }

  /** Returns the limit by which a tenant may not hold this much; empty if it may. */
  public Optional<QuotaLimit> exceededBy(ResourceUsage use) {
    if (leases.isPresent() && use.leases() > leases.getAsInt()) {
      return Optional.of(new QuotaLimit.Leases(leases.getAsInt()));
    }
    if (memoryBytes.isPresent() && use.memoryBytes() > memoryBytes.getAsLong()) {
      return Optional.of(new QuotaLimit.Memory(memoryBytes.getAsLong()));
    }
    if (milliGpus.isPresent() && use.milliGpus() > milliGpus.getAsLong()) {
      return Optional.of(new QuotaLimit.Gpus(milliGpus.getAsLong() / 1000.0));
    }
    return Optional.empty();
  }
}
