// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The origin of an entry point's function in the shim.
 *
 * @param auto whether it is generated
 * @param steps its steps; of a generated one that is an op of its own, none
 * @param reason the reason for which it is refused; null if it is not
 */
public record Body(boolean auto, List<Step> steps, @Nullable String reason) {
  public Body {
    steps = List.copyOf(steps);
  }
}
