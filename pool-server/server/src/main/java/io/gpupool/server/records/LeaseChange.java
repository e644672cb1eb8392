// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.control.v1.UpdateLeaseRequest;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.rejection.InvalidFieldException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A change of a lease; what is null stays as it is.
 *
 * @param computeBasisPoints of each of its GPUs
 * @param hard whether it never gets more compute than that
 */
public record LeaseChange(
    @Nullable Integer computeBasisPoints, @Nullable Boolean hard, @Nullable LeaseClass leaseClass) {
  /** Reads a change; an error names what is possible. */
  public static LeaseChange of(UpdateLeaseRequest request) throws InvalidFieldException {
    if (!request.hasComputePercent() && !request.hasHard() && !request.hasClass_()) {
      throw new InvalidFieldException(
          "the change",
          "empty",
          "compute_percent (1 to 100), hard (true or false) or class (batch or latency)");
    }
    return new LeaseChange(
        compute(request),
        request.hasHard() ? request.getHard() : null,
        leaseClass(request).orElse(null));
  }

  private static @Nullable Integer compute(UpdateLeaseRequest request)
      throws InvalidFieldException {
    return request.hasComputePercent()
        ? LeaseRequestValidator.computeBasisPoints(request.getComputePercent())
        : null;
  }

  private static Optional<LeaseClass> leaseClass(UpdateLeaseRequest request)
      throws InvalidFieldException {
    if (!request.hasClass_()) {
      return Optional.empty();
    }
    Optional<LeaseClass> known =
        LeaseClass.of(request.getClass_()).filter(any -> request.getClass_Value() != 0);
    if (known.isEmpty()) {
      throw new InvalidFieldException(
          "class", Integer.toString(request.getClass_Value()), LeaseClass.TEXTS);
    }
    return known;
  }

  /** Returns the text of the record of changes. */
  public String text() {
    List<String> words = new ArrayList<>();
    if (computeBasisPoints != null) {
      words.add(percent(computeBasisPoints) + " compute");
    }
    if (hard != null) {
      words.add(hard ? "hard" : "lendable");
    }
    if (leaseClass != null) {
      words.add("class " + leaseClass.text());
    }
    return String.join(", ", words);
  }

  /** Hundredths of a percent as people write them. */
  public static String percent(int basisPoints) {
    return BigDecimal.valueOf(basisPoints, 2).stripTrailingZeros().toPlainString() + " %";
  }
}
