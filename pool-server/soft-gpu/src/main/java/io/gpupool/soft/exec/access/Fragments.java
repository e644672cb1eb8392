// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.access;

import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.matrix.Matrices;
import io.gpupool.soft.exec.matrix.MatrixType;
import io.gpupool.soft.exec.memory.NativeMemory;

/**
 * A lane's part of a matrix of {@code wmma} on its way from memory or into it. The elements of a
 * matrix lie in the lanes' registers one lane after the other, over and over where lanes hold more
 * than there are: those of a multiplicand in the order in which they lie in memory, those of an
 * accumulator row after row, since it may be loaded and stored in either order. Owned by the worker
 * thread that runs the block.
 */
public final class Fragments {
  /**
   * Where a matrix lies.
   *
   * @param shared whether the address is one of shared memory
   * @param stride elements from one line to the next
   * @param byColumns whether the lines are columns
   * @param line elements of a line
   */
  private record Area(boolean shared, long address, int stride, boolean byColumns, int line) {}

  /** The longest access that is checked at once. */
  private static final int MAX_ACCESS_BYTES = 16;

  private final ThreadBlock block;
  private final int thread;
  private final Area area;
  private final MatrixType type;
  private final int bytes;
  private final int[] words;
  private final int at;

  /**
   * A lane's part.
   *
   * @param at the first of its words
   */
  private Fragments(
      ThreadBlock block, int thread, Area area, MatrixType type, int[] words, int at) {
    this.block = block;
    this.thread = thread;
    this.area = area;
    this.type = type;
    this.words = words;
    this.at = at;
    bytes = type.bits() / 8;
  }

  /**
   * Moves a thread's elements of a {@code wmma} matrix from memory, or into it.
   *
   * @param type number of its {@link MatrixType}
   * @param part the words of {@link Matrices} that the elements lie in
   * @param size elements of the matrix
   */
  public static void move(
      ThreadBlock block,
      int thread,
      boolean shared,
      long address,
      int stride,
      int type,
      int part,
      int size,
      int line,
      boolean byColumns,
      boolean store) {
    Area area = new Area(shared, address, stride, byColumns, line);
    int[] words = block.matrices().words(thread);
    int at = thread * Matrices.LANE_WORDS + part;
    new Fragments(block, thread, area, MatrixType.ALL[type], words, at)
        .move(size, part != Matrices.C, store);
  }

  /**
   * Loads or stores it.
   *
   * @param size elements of the matrix
   */
  private void move(int size, boolean multiplied, boolean store) {
    int held = type.held(size, multiplied);
    int first = (thread & ThreadBlock.WARP - 1) * held;
    boolean inOrder = multiplied || !area.byColumns;
    // All of these are powers of two.
    int run = inOrder ? Math.min(held, area.line) : 1;
    for (int i = 0; i < held; i += run) {
      int p = first + i & size - 1;
      long element;
      if (inOrder) {
        element = (long) (p / area.line) * area.stride + p % area.line;
      } else {
        int columns = size / area.line;
        element = (long) (p % columns) * area.stride + p / columns;
      }
      moveRun(area.address + element * bytes, i, run, store);
    }
  }

  /** Moves elements that are neighbours in memory, in as few accesses as their address allows. */
  private void moveRun(long address, int index, int count, boolean store) {
    int length = count * bytes;
    int access = (int) Long.lowestOneBit(address | length | MAX_ACCESS_BYTES);
    if (access < Integer.BYTES || access < bytes) {
      for (int i = 0; i < count; i++) {
        moveElement(address + (long) i * bytes, index + i, store);
      }
      return;
    }
    int word = at + index * bytes / Integer.BYTES;
    for (int done = 0; done < length; done += access) {
      long checked = check(address + done, access);
      for (int i = 0; i < access; i += Integer.BYTES) {
        if (store) {
          NativeMemory.putInt(checked + i, words[word++]);
        } else {
          words[word++] = NativeMemory.getInt(checked + i);
        }
      }
    }
  }

  private long check(long address, int length) {
    return area.shared
        ? AddressTranslation.shared(block, address, length)
        : AddressTranslation.generic(block, thread, address, length);
  }

  private void moveElement(long address, int index, boolean store) {
    long checked = check(address, bytes);
    int word = at + index * bytes / Integer.BYTES;
    int shift = 8 * (index * bytes % Integer.BYTES);
    switch (bytes) {
      case 1 -> {
        if (store) {
          NativeMemory.putByte(checked, words[word] >>> shift);
        } else {
          words[word] =
              words[word] & ~(0xFF << shift) | (NativeMemory.getByte(checked) & 0xFF) << shift;
        }
      }
      case 2 -> {
        if (store) {
          NativeMemory.putShort(checked, words[word] >>> shift);
        } else {
          words[word] =
              words[word] & ~(0xFFFF << shift) | (NativeMemory.getShort(checked) & 0xFFFF) << shift;
        }
      }
      default -> {
        for (int i = 0; i < bytes; i += Integer.BYTES) {
          if (store) {
            NativeMemory.putInt(checked + i, words[word++]);
          } else {
            words[word++] = NativeMemory.getInt(checked + i);
          }
        }
      }
    }
  }
}
