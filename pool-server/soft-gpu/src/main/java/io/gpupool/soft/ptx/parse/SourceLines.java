// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The source lines of one unit, from {@code .file} and {@code .loc}. Filled by the parser. */
public final class SourceLines {
  /** A line of a source file; line 0 where a function begins, of which nothing is known yet. */
  private record Place(long file, long line) {}

  private final Map<Long, String> files = new HashMap<>();
  private final TreeMap<Integer, Place> places = new TreeMap<>();

  void file(long number, String name) {
    files.put(number, name);
  }

  /** From a line of the PTX on, code is made from a line of a source file. */
  void location(int ptxLine, long file, long line) {
    places.put(ptxLine, new Place(file, line));
  }

  /** A function begins. */
  void function(int ptxLine) {
    places.putIfAbsent(ptxLine, new Place(0, 0));
  }

  /** {@code FILE:LINE} of the source that a line of the PTX was made from. */
  public Optional<String> of(int ptxLine) {
    Map.Entry<Integer, Place> entry = places.floorEntry(ptxLine);
    if (entry == null || entry.getValue().line == 0) {
      return Optional.empty();
    }
    String file = files.getOrDefault(entry.getValue().file, "?");
    return Optional.of(file + ":" + entry.getValue().line);
  }
}
