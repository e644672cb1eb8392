// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

/** The format of one channel of an element. */
public enum ChannelType {
  UNSIGNED_8(1, Kind.UNSIGNED),
  UNSIGNED_16(2, Kind.UNSIGNED),
  UNSIGNED_32(4, Kind.UNSIGNED),
  SIGNED_8(1, Kind.SIGNED),
  SIGNED_16(2, Kind.SIGNED),
  SIGNED_32(4, Kind.SIGNED),
  HALF(2, Kind.FLOAT),
  FLOAT(4, Kind.FLOAT);

  /** How the bits are read. */
  public enum Kind {
    UNSIGNED,
    SIGNED,
    FLOAT
  }

  private final int bytes;
  private final Kind kind;

  ChannelType(int bytes, Kind kind) {
    this.bytes = bytes;
    this.kind = kind;
  }

  public int bytes() {
    return bytes;
  }

  public Kind kind() {
    return kind;
  }

  /** Whether it can be read as a number from 0 or -1 to 1. */
  boolean canBeNormalized() {
    return kind != Kind.FLOAT && bytes < 4;
  }
}
