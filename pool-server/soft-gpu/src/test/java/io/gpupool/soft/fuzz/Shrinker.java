// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import io.gpupool.soft.fuzz.Trial.Difference;
import io.gpupool.soft.ptx.PtxException;
import java.util.List;
import java.util.Optional;

/** Leaves out pieces of a failing kernel for as long as it fails without them. */
final class Shrinker {
  private static final int MAX_TRIALS = 3000;

  private final Trial trial;
  private int trials;

  Shrinker(Trial trial) {
    this.trial = trial;
  }

  Difference shrink(Difference found) {
    Difference least = found;
    for (Optional<Difference> next = smaller(least); next.isPresent(); next = smaller(least)) {
      least = next.get();
    }
    return least;
  }

  private Optional<Difference> smaller(Difference found) {
    for (Program candidate : found.program().smaller()) {
      if (++trials > MAX_TRIALS) {
        return Optional.empty();
      }
      try {
        List<Difference> still = trial.run(List.of(candidate));
        if (!still.isEmpty()) {
          return Optional.of(still.getFirst());
        }
      } catch (PtxException | IllegalStateException e) {
        // What is left is no valid kernel any more.
        continue;
      }
    }
    return Optional.empty();
  }
}
