// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

/** The result of a texture read, and room to compute it. Owned by one thread. */
public final class Sample {
  static final int CHANNELS = 4;

  /** The four channels: bits of floats, or integers. */
  final int[] bits = new int[CHANNELS];

  /** The channels being summed up. */
  final float[] sum = new float[CHANNELS];

  /** The face where a direction meets a cube. */
  int face;

  /** The place that is read; on a cube's face from 0 to 1. */
  float s;

  float t;

  /** A channel's bits. */
  public int channel(int index) {
    return bits[index];
  }

  void clear() {
    for (int i = 0; i < CHANNELS; i++) {
      bits[i] = 0;
      sum[i] = 0;
    }
  }

  /** Finds where a direction meets the cube, as the CUDA C++ Programming Guide's table says. */
  void project(float x, float y, float z) {
    float ax = Math.abs(x);
    float ay = Math.abs(y);
    float az = Math.abs(z);
    float major;
    float along;
    float down;
    if (ax >= ay && ax >= az) {
      major = ax;
      face = x >= 0 ? 0 : 1;
      along = x >= 0 ? -z : z;
      down = -y;
    } else if (ay >= az) {
      major = ay;
      face = y >= 0 ? 2 : 3;
      along = x;
      down = y >= 0 ? z : -z;
    } else {
      major = az;
      face = z >= 0 ? 4 : 5;
      along = z >= 0 ? x : -x;
      down = -y;
    }
    s = (along / major + 1) / 2;
    t = (down / major + 1) / 2;
  }

  /** Finds the place on the cube that a place beside a face, from -1 to 1 on it, stands for. */
  void projectFrom(int fromFace, float along, float down) {
    switch (fromFace) {
      case 0 -> project(1, -down, -along);
      case 1 -> project(-1, -down, along);
      case 2 -> project(along, 1, down);
      case 3 -> project(along, -1, -down);
      case 4 -> project(along, -down, 1);
      default -> project(-along, -down, -1);
    }
  }
}
