// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.control.v1.UpdateLeaseRequest;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.rejection.InvalidFieldException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A change of a lease; what is empty stays as it is.
 *
 * @param computeBasisPoints of each of its GPUs
 * @param hard whether it never gets more compute than that
 */
public record LeaseChange(
    OptionalInt computeBasisPoints, Optional<Boolean> hard, Optional<LeaseClass> leaseClass) {
  /** Reads what is asked for; what cannot be is named with what can. */
  public static LeaseChange of(UpdateLeaseRequest request) throws InvalidFieldException {
    if (!request.hasComputePercent() && !request.hasHard() && !request.hasClass_()) {
      throw new InvalidFieldException(
          "the change",
          "empty",
          "compute_percent (1 to 100), hard (true or false) or class (batch or latency)");
    }
    return new LeaseChange(
        compute(request),
        request.hasHard() ? Optional.of(request.getHard()) : Optional.empty(),
        leaseClass(request));
  }

  private static OptionalInt compute(UpdateLeaseRequest request) throws InvalidFieldException {
    return request.hasComputePercent()
        ? OptionalInt.of(LeaseRequestValidator.computeBasisPoints(request.getComputePercent()))
        : OptionalInt.empty();
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

  /** How the record of changes has it. */
  public String text() {
    List<String> words = new ArrayList<>();
    computeBasisPoints.ifPresent(points -> words.add(percent(points) + " compute"));
    hard.ifPresent(is -> words.add(is ? "hard" : "lendable"));
    leaseClass.ifPresent(now -> words.add("class " + now.text()));
    return String.join(", ", words);
  }

  /** Hundredths of a percent as people write them. */
  public static String percent(int basisPoints) {
    return BigDecimal.valueOf(basisPoints, 2).stripTrailingZeros().toPlainString() + " %";
  }
}
