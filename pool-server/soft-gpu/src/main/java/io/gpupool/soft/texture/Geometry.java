// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

/** The shapes that texture and surface instructions name. */
public enum Geometry {
  LINE("1d", 1, false),
  PLANE("2d", 2, false),
  VOLUME("3d", 3, false),
  LINES("a1d", 1, true),
  PLANES("a2d", 2, true),
  CUBE("cube", 3, false),
  CUBES("acube", 3, true);

  private static final Geometry[] ALL = values();

  private final String ptxName;
  private final int coordinates;
  private final boolean layered;

  Geometry(String ptxName, int coordinates, boolean layered) {
    this.ptxName = ptxName;
    this.coordinates = coordinates;
    this.layered = layered;
  }

  /** The shape of an ordinal, which generated code passes on. */
  public static Geometry of(int ordinal) {
    return ALL[ordinal];
  }

  /** As PTX writes it. */
  public String ptxName() {
    return ptxName;
  }

  /** How many coordinates there are besides the layer. */
  public int coordinates() {
    return coordinates;
  }

  /** Whether a layer comes before the coordinates. */
  public boolean layered() {
    return layered;
  }

  boolean isCube() {
    return this == CUBE || this == CUBES;
  }
}
