// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.List;

/**
 * The parts of the call stream that are not fields of ops.
 *
 * @param numbers sets of named numbers
 * @param layouts structs
 * @param results results of the driver API, in the order of their codes
 */
public record Wire(List<NumberSet> numbers, List<Layout> layouts, List<CudaResultCode> results) {
  public Wire {
    numbers = List.copyOf(numbers);
    layouts = List.copyOf(layouts);
    results = List.copyOf(results);
  }
}
