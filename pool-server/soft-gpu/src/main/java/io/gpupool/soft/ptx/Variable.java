// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

/**
 * A declared PTX variable outside the register space; its identity matters, since functions may
 * repeat a name.
 */
public final class Variable {
  private final String name;
  private final Space space;
  private final long sizeBytes;
  private final int alignBytes;
  private final boolean external;

  public Variable(String name, Space space, long sizeBytes, int alignBytes, boolean external) {
    this.name = name;
    this.space = space;
    this.sizeBytes = sizeBytes;
    this.alignBytes = alignBytes;
    this.external = external;
  }

  public String name() {
    return name;
  }

  public Space space() {
    return space;
  }

  /** Zero for an array of unstated length. */
  public long sizeBytes() {
    return sizeBytes;
  }

  public int alignBytes() {
    return alignBytes;
  }

  /** Declared {@code .extern}. */
  public boolean external() {
    return external;
  }

  @Override
  public String toString() {
    return name;
  }
}
