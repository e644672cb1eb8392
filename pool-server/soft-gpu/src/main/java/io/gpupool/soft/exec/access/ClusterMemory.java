// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.access;

import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.memory.NativeMemory;

/**
 * Shared memory of the blocks of a cluster. An address of the {@code shared::cluster} space is one
 * of the block's own memory, or has the rank of another block, plus one, in the bits from {@value
 * #RANK_SHIFT} on. Called by generated code.
 */
public final class ClusterMemory {
  static final int RANK_SHIFT = 24;

  /** The last rank that an address has room for, which no block has; stands for all beyond it. */
  private static final int NO_RANK = 254;

  private static final long OFFSET = (1L << RANK_SHIFT) - 1;
  private static final long WINDOW = 0xFFFF_FFFFL;
  private static final int BULK_BYTES = 16;

  private ClusterMemory() {}

  /** Where in the shared memory of its block an address lies. */
  static long offset(long address) {
    return address & OFFSET;
  }

  /**
   * The address at which a block finds what lies at an own address in the block of a rank. Each
   * access to it is a fault if there is no such block.
   */
  public static long map(ThreadBlock block, long address, int rank) {
    if (rank == 0 && block.cluster().shape().blocks() == 1) {
      return address;
    }
    int marked = Integer.compareUnsigned(rank, NO_RANK) < 0 ? rank : NO_RANK;
    return address & ~WINDOW | marked + 1L << RANK_SHIFT | address & OFFSET;
  }

  /** The rank of the block in whose shared memory an address lies. */
  public static int rank(ThreadBlock block, long address) {
    int marked = (int) ((address & WINDOW) >>> RANK_SHIFT);
    return marked == 0 ? block.clusterRank() : marked - 1;
  }

  /** Whether a generic address lies in the block's own shared memory. */
  public static int isOwn(ThreadBlock block, long address) {
    return AddressTranslation.inWindow(address, AddressTranslation.SHARED_WINDOW) != 0
            && rank(block, address) == block.clusterRank()
        ? 1
        : 0;
  }

  /** The native address of an access to shared memory of any block of the cluster. */
  public static long check(ThreadBlock block, long address, int bytes) {
    ThreadBlock home = home(block, address);
    return AddressTranslation.ownShared(home, address & OFFSET, bytes);
  }

  static ThreadBlock home(ThreadBlock block, long address) {
    ThreadBlock home =
        address >>> RANK_SHIFT == 0 ? block : block.cluster().resident(rank(block, address));
    if (home == null || address >>> 32 != 0) {
      throw new DeviceFaultException(
          KernelFaultException.ILLEGAL_ADDRESS,
          "access to shared::cluster address 0x"
              + Long.toHexString(address)
              + ", where no block of the cluster is, or is any more");
    }
    return home;
  }

  /** A block that a multicast names. */
  private static ThreadBlock target(ThreadBlock block, int rank) {
    ThreadBlock target = block.cluster().resident(rank);
    if (target == null) {
      throw new DeviceFaultException(
          KernelFaultException.ILLEGAL_ADDRESS,
          "multicast to block " + rank + " of the cluster, which is not there or has ended");
    }
    return target;
  }

  /**
   * Copies from global memory to the same place in several blocks, and tells the barriers there.
   *
   * @param to address in shared memory, of whichever block
   * @param barrier the same
   * @param ranks a bit for each block
   */
  public static void multicast(
      ThreadBlock block, long to, long from, int bytes, long barrier, int ranks) {
    for (int rest = ranks & 0xFFFF; rest != 0; rest &= rest - 1) {
      ThreadBlock target = target(block, Integer.numberOfTrailingZeros(rest));
      for (int at = 0; at < bytes; at += BULK_BYTES) {
        long source = AddressTranslation.global(block, from + at, BULK_BYTES);
        long place = AddressTranslation.ownShared(target, (to & OFFSET) + at, BULK_BYTES);
        NativeMemory.putLong(place, NativeMemory.getLong(source));
        NativeMemory.putLong(place + 8, NativeMemory.getLong(source + 8));
      }
      complete(target, barrier, bytes);
    }
  }

  /** Copies a box to several blocks, as {@link TensorCopies}, and tells the barriers there. */
  public static void multicastBox(
      ThreadBlock block, int thread, long map, int[] start, long to, long barrier, int ranks) {
    for (int rest = ranks & 0xFFFF; rest != 0; rest &= rest - 1) {
      ThreadBlock target = target(block, Integer.numberOfTrailingZeros(rest));
      int bytes = TensorCopies.load(block, thread, map, start, target, to & OFFSET);
      complete(target, barrier, bytes);
    }
  }

  private static void complete(ThreadBlock target, long barrier, int bytes) {
    long place = AddressTranslation.ownShared(target, barrier & OFFSET, Long.BYTES);
    MemoryBarriers.expectBytes(place, -bytes);
  }
}
