// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/** Ranges of addresses of which none overlaps another. Used by one thread at a time. */
public final class AddressRanges {
  private final TreeMap<Long, Long> lengths = new TreeMap<>();

  public void add(long address, long lengthBytes) {
    lengths.put(address, lengthBytes);
  }

  /** Removes the range that begins at an address, if there is one. */
  public void remove(long address) {
    lengths.remove(address);
  }

  /** Returns whether there is a range of just this beginning and length. */
  public boolean contains(long address, long lengthBytes) {
    Long found = lengths.get(address);
    return found != null && found == lengthBytes;
  }

  /** Returns whether one of the ranges covers all of another, which may be empty. */
  public boolean cover(long address, long lengthBytes) {
    Map.Entry<Long, Long> range = lengths.floorEntry(address);
    return range != null
        && lengthBytes >= 0
        && lengthBytes <= range.getValue()
        && address - range.getKey() <= range.getValue() - lengthBytes;
  }

  public int count() {
    return lengths.size();
  }

  /** Returns their lengths in bytes by their first addresses, in this order. */
  public Map<Long, Long> lengths() {
    return Collections.unmodifiableMap(lengths);
  }
}
