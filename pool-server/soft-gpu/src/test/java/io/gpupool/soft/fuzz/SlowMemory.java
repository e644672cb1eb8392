// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/**
 * Memory as pieces with an address each; whoever asks for a byte that is in none is at fault, since
 * generated kernels keep to what is theirs.
 */
final class SlowMemory {
  static final long SHARED_WINDOW = 1L << 50;
  static final long LOCAL_WINDOW = 2L << 50;

  private final TreeMap<Long, byte[]> pieces = new TreeMap<>();
  private long next = 1L << 40;

  /** Adds global memory; returns its address. */
  long add(byte[] bytes) {
    long address = next;
    next += -(-bytes.length & -4096L) + 4096;
    pieces.put(address, bytes);
    return address;
  }

  /** Puts memory at a place, in place of what was there. */
  void put(long address, byte[] bytes) {
    pieces.put(address, bytes);
  }

  byte[] at(long address) {
    return pieces.get(address);
  }

  /** Reads up to eight bytes, little endian. */
  long read(long address, int bytes) {
    Map.Entry<Long, byte[]> piece = find(address, bytes);
    int at = (int) (address - piece.getKey());
    long value = 0;
    for (int i = bytes - 1; i >= 0; i--) {
      value = value << 8 | piece.getValue()[at + i] & 0xFF;
    }
    return value;
  }

  void write(long address, int bytes, long value) {
    Map.Entry<Long, byte[]> piece = find(address, bytes);
    int at = (int) (address - piece.getKey());
    for (int i = 0; i < bytes; i++) {
      piece.getValue()[at + i] = (byte) (value >>> 8 * i);
    }
  }

  private Map.Entry<Long, byte[]> find(long address, int bytes) {
    Map.Entry<Long, byte[]> piece = pieces.floorEntry(address);
    if (piece == null
        || address + bytes - piece.getKey() > piece.getValue().length
        || address % bytes != 0) {
      throw new IllegalStateException("kernel touches %d bytes at %x".formatted(bytes, address));
    }
    return piece;
  }

  static byte[] copyOf(byte[] bytes) {
    return Arrays.copyOf(bytes, bytes.length);
  }
}
