// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import java.util.List;

/** Finds the reference of each instruction. */
final class References {
  private References() {}

  static List<Case> of(Sample sample) {
    return switch (sample.form().family()) {
      case "Integer arithmetic", "Carry chains" -> IntegerCases.of(sample);
      case "Logic, shifts and bit fields" -> BitCases.of(sample);
      case "Single and double precision", "Mixed precision", "Half precision" ->
          FloatCases.of(sample);
      case "Approximate functions" -> ApproximateCases.of(sample);
      case "Comparison and selection" -> CompareCases.of(sample);
      case "Conversion" -> ConvertCases.of(sample);
      case "Loads and stores" -> MemoryCases.of(sample);
      case "Atomic operations" -> AtomicCases.of(sample);
      case "Video" -> VideoCases.of(sample);
      case "Warps" -> WarpCases.of(sample);
      case "Barriers and fences" -> BlockCases.of(sample);
      case "Moves and addresses" -> MoveCases.of(sample);
      case "Caches", "Control", "Barrier objects and asynchronous copies" -> OtherCases.of(sample);
      default -> throw new IllegalStateException("no reference for " + sample.text());
    };
  }
}
