// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.health;

import java.util.Map;
import java.util.Set;

/** NVIDIA's numbers of faults ("XID errors"), and what is to blame for each. */
final class Xid {
  /** Not a number of NVIDIA's: an error of memory that could not be corrected. */
  static final int UNCORRECTED_MEMORY = 0;

  /** What a program can cause by itself; its session fails, and the GPU is as good as before. */
  private static final Set<Integer> OF_PROGRAMS =
      Set.of(8, 11, 13, 31, 32, 43, 45, 68, 69, 109, 137);

  /**
   * What the card has put right, or advice; whether a reset is due is told by its own condition.
   */
  private static final Set<Integer> FOR_THE_RECORD = Set.of(63, 92, 154);

  private static final Map<Integer, String> MEANINGS =
      Map.ofEntries(
          Map.entry(48, "double-bit error of memory"),
          Map.entry(61, "microcontroller stopped with a warning"),
          Map.entry(62, "microcontroller halted"),
          Map.entry(64, "a row of memory could not be remapped"),
          Map.entry(74, "NVLink error"),
          Map.entry(79, "the GPU has fallen off the bus"),
          Map.entry(94, "error of memory that was contained"),
          Map.entry(95, "error of memory that was not contained"),
          Map.entry(119, "the GPU's system processor does not answer"),
          Map.entry(120, "error of the GPU's system processor"),
          Map.entry(140, "error of memory that was not recovered"),
          Map.entry(154, "the action that recovers the GPU has changed"));

  private Xid() {}

  /** Whether the GPU is not to be relied on after it. */
  static boolean isOfTheGpu(int xid) {
    return !OF_PROGRAMS.contains(xid) && !FOR_THE_RECORD.contains(xid);
  }

  static String describe(int xid) {
    if (xid == UNCORRECTED_MEMORY) {
      return "an error of memory could not be corrected";
    }
    String meaning = MEANINGS.get(xid);
    return "XID " + xid + (meaning == null ? "" : ": " + meaning);
  }
}
