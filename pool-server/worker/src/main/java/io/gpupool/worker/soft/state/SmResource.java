// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.state;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.worker.os.Memory;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/**
 * Multiprocessors of a GPU, of which a green context is made, as a CUdevResource holds them.
 *
 * <pre>
 *   0 u32 type 1   4 u32 magic   8 u32 device   12 u32 first   16 u32 split that it came from, or 0
 *  96 u32 count   100 u32 least partition   104 u32 alignment
 * </pre>
 *
 * @param first the first multiprocessor
 * @param split number of the split that made it; 0: it may be split
 * @param capability compute capability times ten
 */
public record SmResource(int device, int first, int count, int split, int capability) {
  public static final int BYTES = 144;

  /** CU_DEV_RESOURCE_TYPE_SM. */
  public static final int TYPE = 1;

  private static final int MAGIC = 0x5347_5047;
  private static final int COUNT_OFFSET = 96;

  /** CU_DEV_SM_RESOURCE_SPLIT_... */
  private static final int IGNORE_COSCHEDULING = 1;

  private static final int MAX_CLUSTERS = 2;

  /** The least number of multiprocessors of a partition, and the number it is a multiple of. */
  record Rule(int least, int alignment) {
    /**
     * The rule of cuda.h. A software GPU may have fewer multiprocessors than that: then each one is
     * a partition.
     *
     * @param total multiprocessors there are
     */
    static Rule of(int capability, int total, boolean fine) {
      Rule rule =
          switch (capability / 10) {
            case 6, 7 -> new Rule(2, 2);
            case 8 -> fine ? new Rule(2, 2) : new Rule(4, 2);
            default -> fine ? new Rule(2, 2) : new Rule(8, 8);
          };
      return total < 2 * rule.least ? new Rule(1, 1) : rule;
    }
  }

  /** Groups of a split, and what is left. */
  public record Split(List<SmResource> groups, SmResource remaining) {}

  private Rule rule() {
    return Rule.of(capability, count, false);
  }

  /**
   * Splits as {@code cuDevSmResourceSplitByCount} does.
   *
   * @param wanted groups; {@link Integer#MAX_VALUE}: as many as there can be
   * @param number of the split
   * @throws GpuException INVALID_VALUE, INVALID_RESOURCE_CONFIGURATION
   */
  public Split split(int wanted, int flags, int minCount, int number) {
    boolean known = (flags & ~(IGNORE_COSCHEDULING | MAX_CLUSTERS)) == 0;
    if (!known || wanted < 1 || minCount < 0 || minCount > count) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          "a split of " + count + " multiprocessors by " + minCount + " with flags " + flags);
    }
    if (split != 0) {
      throw new GpuException(
          CudaStatus.INVALID_RESOURCE_CONFIGURATION,
          "what a split made is split again only as a green context's resource");
    }
    Rule rule = Rule.of(capability, count, (flags & IGNORE_COSCHEDULING) != 0);
    int least = Math.max(minCount, rule.least);
    int size = Math.ceilDiv(least, rule.alignment) * rule.alignment;
    int made = Math.min(wanted, count / size);
    if (made == 0) {
      throw new GpuException(
          CudaStatus.INVALID_RESOURCE_CONFIGURATION,
          count + " multiprocessors give no group of " + size);
    }
    List<SmResource> groups = new ArrayList<>();
    for (int i = 0; i < made; i++) {
      groups.add(new SmResource(device, first + i * size, size, number, capability));
    }
    int used = made * size;
    return new Split(
        groups, new SmResource(device, first + used, count - used, number, capability));
  }

  /** What several parts of one split are together. */
  public static SmResource together(List<SmResource> parts) {
    SmResource one = parts.getFirst();
    int count = 0;
    for (SmResource part : parts) {
      boolean alike =
          part.device == one.device
              && part.split == one.split
              && (parts.size() == 1 || one.split != 0);
      if (!alike || part.count == 0) {
        throw new GpuException(
            CudaStatus.INVALID_RESOURCE_CONFIGURATION, "resources that are not of one split");
      }
      count += part.count;
    }
    return new SmResource(one.device, one.first, count, 0, one.capability);
  }

  /**
   * Reads one.
   *
   * @param capability compute capability times ten of the device that the bytes name
   * @throws GpuException INVALID_RESOURCE_TYPE
   */
  public static SmResource read(long address, IntUnaryOperator capability) {
    if (Memory.getInt(address) != TYPE || Memory.getInt(address + 4) != MAGIC) {
      throw new GpuException(CudaStatus.INVALID_RESOURCE_TYPE, "no resource of multiprocessors");
    }
    int device = Memory.getInt(address + 8);
    return new SmResource(
        device,
        Memory.getInt(address + 12),
        Memory.getInt(address + COUNT_OFFSET),
        Memory.getInt(address + 16),
        capability.applyAsInt(device));
  }

  /** Writes all bytes. */
  public void write(long address) {
    Memory.clear(address, BYTES);
    if (count == 0) {
      // Nothing remains: a resource that is none.
      return;
    }
    Memory.putInt(address, TYPE);
    Memory.putInt(address + 4, MAGIC);
    Memory.putInt(address + 8, device);
    Memory.putInt(address + 12, first);
    Memory.putInt(address + 16, split);
    Memory.putInt(address + COUNT_OFFSET, count);
    Memory.putInt(address + COUNT_OFFSET + 4, rule().least);
    Memory.putInt(address + COUNT_OFFSET + 8, rule().alignment);
  }
}
