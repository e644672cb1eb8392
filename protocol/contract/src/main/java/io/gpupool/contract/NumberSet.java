// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A set of named numbers that both ends of a call stream know.
 *
 * @param name the worker's class of them
 * @param prefix the shim's prefix of each name
 * @param values the numbers by name, in their order
 */
public record NumberSet(String name, String prefix, Map<String, Integer> values) {
  public NumberSet {
    values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
  }
}
