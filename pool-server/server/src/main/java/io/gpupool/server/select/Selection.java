// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.select;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** All selectors of a request. Remembers what it has looked at; for one thread. */
public final class Selection {
  private final List<Known> selectors = new ArrayList<>();

  /** A selector and the values it has judged; pools have few models and many GPUs. */
  private record Known(Selector selector, Map<String, Boolean> judged) {
    boolean accepts(Optional<String> value) {
      return value.isPresent() && judged.computeIfAbsent(value.get(), selector::accepts);
    }
  }

  /**
   * Of selectors as they are asked for, which have been checked.
   *
   * @throws IllegalArgumentException if one is none
   */
  public Selection(Map<String, String> selectors) {
    selectors.forEach(
        (key, value) -> this.selectors.add(new Known(Selector.of(key, value), new HashMap<>())));
  }

  /** Whether a GPU will do; {@code properties} are what it is. */
  public boolean accepts(Function<String, Optional<String>> properties) {
    for (Known known : selectors) {
      if (!known.accepts(properties.apply(known.selector.property()))) {
        return false;
      }
    }
    return true;
  }
}
