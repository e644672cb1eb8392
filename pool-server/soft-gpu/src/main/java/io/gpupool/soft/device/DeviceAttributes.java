// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.device.spec.ComputeLimits;
import io.gpupool.soft.device.spec.TextureLimits;
import io.gpupool.soft.device.work.Scheduler;
import java.util.Arrays;

/**
 * The table that {@code cuDeviceGetAttribute} reads; the index is the CUdevice_attribute of CUDA
 * 13.0. What the software GPU cannot do is 0 here: sharing between processes. Managed and mapped
 * host memory are the client's doing.
 */
final class DeviceAttributes {
  /** Value of an attribute that does not exist. */
  static final int ABSENT = Integer.MIN_VALUE;

  /** One more than the highest CUdevice_attribute. */
  static final int COUNT = 148;

  private static final int CLOCK_KILOHERTZ = 1_000_000;
  private static final int MEMORY_BUS_BITS = 128;
  private static final int L2_BYTES = 8 << 20;
  private static final int CONSTANT_BYTES = 64 << 10;
  private static final int PCI_DOMAIN = 0xffff;

  /** The first compute capability, times ten, with tensor maps. */
  private static final int TENSOR_MAP_CAPABILITY = 90;

  private DeviceAttributes() {}

  static int[] of(ComputeLimits limits, int multiprocessors, int ordinal) {
    int[] table = new int[COUNT];
    Arrays.fill(table, 1, COUNT, 0);
    table[0] = ABSENT;
    set(table, 1, ComputeLimits.THREADS_PER_BLOCK);
    set(table, 2, ComputeLimits.THREADS_PER_BLOCK); // block x
    set(table, 3, ComputeLimits.THREADS_PER_BLOCK); // block y
    set(table, 4, ComputeLimits.MAX_BLOCK_Z);
    set(table, 5, ComputeLimits.MAX_GRID_X);
    set(table, 6, ComputeLimits.MAX_GRID_YZ);
    set(table, 7, ComputeLimits.MAX_GRID_YZ);
    set(table, 8, ComputeLimits.SHARED_BYTES_PER_BLOCK);
    set(table, 9, CONSTANT_BYTES);
    set(table, 10, ComputeLimits.WARP_THREADS);
    set(table, 11, Integer.MAX_VALUE); // pitch
    set(table, 12, ComputeLimits.REGISTERS); // per block
    set(table, 13, CLOCK_KILOHERTZ);
    set(table, 14, ComputeLimits.PITCH_ALIGNMENT_BYTES); // texture alignment
    set(table, 15, 1); // copies overlap with kernels
    set(table, 16, multiprocessors);
    set(table, 19, 1); // host memory can be mapped
    images(table);
    set(table, 30, ComputeLimits.PITCH_ALIGNMENT_BYTES); // surface alignment
    set(table, 31, 1); // concurrent kernels
    set(table, 33, ordinal); // PCI bus
    set(table, 36, CLOCK_KILOHERTZ); // memory clock
    set(table, 37, MEMORY_BUS_BITS);
    set(table, 38, L2_BYTES);
    set(table, 39, limits.threadsPerMultiprocessor());
    set(table, 40, Scheduler.COPY_THREADS); // asynchronous engines
    set(table, 50, PCI_DOMAIN);
    set(table, 51, TextureLimits.PITCH_ALIGNMENT_BYTES);
    set(table, 75, limits.capability() / 10);
    set(table, 76, limits.capability() % 10);
    set(table, 81, limits.sharedBytesPerMultiprocessor());
    set(table, 82, ComputeLimits.REGISTERS); // per multiprocessor
    set(table, 87, 2); // single to double precision ratio
    set(table, 97, limits.sharedBytesPerBlockOptIn());
    set(table, 106, limits.blocksPerMultiprocessor());
    set(table, 111, limits.sharedBytesReserved());
    set(table, 131, -1); // NUMA node of the memory
    set(table, 134, -1); // NUMA node of the host
    features(table, limits);
    return table;
  }

  /** What the device can do. */
  private static void features(int[] table, ComputeLimits limits) {
    set(table, 41, 1); // unified addressing
    set(table, 78, 1); // stream priorities
    set(table, 79, 1); // global L1 cache
    set(table, 80, 1); // local L1 cache
    set(table, 83, 1); // managed memory
    set(table, 90, 1); // compute preemption
    set(table, 92, 1); // stream memory operations, as of CUDA 8
    set(table, 93, 1); // on 64 bits
    set(table, 94, 1); // that wait for NOR
    set(table, 95, 1); // cooperative launch
    set(table, 99, 1); // host memory registration
    set(table, 102, 1); // virtual memory management
    set(table, 103, 1); // blocks are shared by descriptors
    set(table, 115, 1); // memory pools
    set(table, 119, 1); // pools are shared by descriptors
    set(table, 122, 1); // stream memory operations on 64 bits
    set(table, 123, 1); // that wait for NOR
    set(table, 125, 1); // events are shared
    set(table, 126, 1); // memory synchronisation domains
    set(table, 120, limits.capability() >= ComputeLimits.CLUSTER_CAPABILITY ? 1 : 0); // clusters
    set(table, 127, limits.capability() >= TENSOR_MAP_CAPABILITY ? 1 : 0);
  }

  /** The limits of textures and surfaces. */
  private static void images(int[] table) {
    set(table, 21, TextureLimits.LINE);
    set(table, 22, TextureLimits.PLANE_WIDTH);
    set(table, 23, TextureLimits.PLANE_HEIGHT);
    for (int volume : new int[] {24, 25, 26, 47, 48, 49, 58, 59, 60}) {
      set(table, volume, TextureLimits.VOLUME_SIDE);
    }
    for (int layered : new int[] {27, 28, 42, 52, 53, 61, 63, 64, 66, 67}) {
      set(table, layered, TextureLimits.LAYERED_SIDE);
    }
    for (int layers : new int[] {29, 43, 62, 65}) {
      set(table, layers, TextureLimits.LAYERS);
    }
    set(table, 44, 1); // gathers
    set(table, 45, TextureLimits.GATHER_SIDE); // gather width
    set(table, 46, TextureLimits.GATHER_SIDE); // gather height
    set(table, 54, TextureLimits.CUBE_LAYERS); // texture cube map layers
    set(table, 55, TextureLimits.SURFACE_LINE);
    set(table, 56, TextureLimits.PLANE_WIDTH); // surface width
    set(table, 57, TextureLimits.PLANE_HEIGHT); // surface height
    set(table, 68, TextureLimits.CUBE_LAYERS); // surface cube map layers
    set(table, 69, TextureLimits.LINEAR_ELEMENTS);
    set(table, 70, TextureLimits.PITCHED_WIDTH);
    set(table, 71, TextureLimits.PITCHED_HEIGHT);
    set(table, 72, TextureLimits.PITCHED_PITCH_BYTES);
    set(table, 73, TextureLimits.MIPMAPPED_SIDE); // plane width
    set(table, 74, TextureLimits.MIPMAPPED_SIDE); // plane height
    set(table, 77, TextureLimits.MIPMAPPED_SIDE); // line
  }

  /** {@code domain:bus:device.function}, in a domain that no physical bus has. */
  static String pciBusId(int ordinal) {
    return "%04X:%02X:00.0".formatted(PCI_DOMAIN, ordinal);
  }

  private static void set(int[] table, int attribute, int value) {
    table[attribute] = value;
  }
}
