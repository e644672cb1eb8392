// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.lease;

import io.gpupool.control.v1.GpuSelector;
import java.util.List;
import java.util.Map;

/** The selectors of lease requests, read from pairs as people write them. */
public final class GpuSelectors {
  private GpuSelectors() {}

  /**
   * Returns the selectors of a request.
   *
   * @param pairs such as {@code model=*H100*}; {@code cc>=8.0} has the key {@code cc>}
   */
  public static List<GpuSelector> of(Map<String, String> pairs) {
    return pairs.entrySet().stream().map(pair -> of(pair.getKey(), pair.getValue())).toList();
  }

  /** Returns the selector of one pair. */
  public static GpuSelector of(String key, String value) {
    boolean isVersion = key.endsWith(">");
    return GpuSelector.newBuilder()
        .setKey(isVersion ? key.substring(0, key.length() - 1) : key)
        .setOperator(
            isVersion ? GpuSelector.Operator.OPERATOR_AT_LEAST : GpuSelector.Operator.OPERATOR_IN)
        .addValues(value)
        .build();
  }
}
