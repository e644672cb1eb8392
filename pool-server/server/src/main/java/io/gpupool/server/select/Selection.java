// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.select;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The selectors of a request. It remembers the values that it has looked at. For one thread. */
public final class Selection {
  private final List<CachedSelector> selectors = new ArrayList<>();

  /** A selector and the values it has judged; pools have few models and many GPUs. */
  private record CachedSelector(Selector selector, Map<String, Boolean> judged) {
    boolean accepts(@Nullable String value) {
      return value != null && judged.computeIfAbsent(value, selector::accepts);
    }
  }

  public Selection(List<Selector> selectors) {
    selectors.forEach(
        selector -> this.selectors.add(new CachedSelector(selector, new HashMap<>())));
  }

  /** What selectors look at. */
  public interface Properties {
    /** Empty where there is no such property. */
    Optional<String> property(String key);
  }

  /** Whether a GPU will do. */
  public boolean accepts(Properties gpu) {
    for (int i = 0; i < selectors.size(); i++) {
      CachedSelector known = selectors.get(i);
      if (!known.accepts(gpu.property(known.selector.property()).orElse(null))) {
        return false;
      }
    }
    return true;
  }
}
