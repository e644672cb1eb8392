// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * The values that stand for textures and surfaces in kernels. A value is used again some time after
 * its object is gone. Any thread may look up.
 */
public final class TextureTable {
  private static final int INITIAL_CAPACITY = 64;
  private static final int REST = 64;
  private static final int MAX_VALUES = 1 << 21;

  /** Written under the lock of this; a reader may see an older array, never a torn one. */
  private volatile @Nullable Object[] objects = new Object[INITIAL_CAPACITY];

  /** Whom each object was made for; guarded by this. */
  private @Nullable Object[] owners = new Object[INITIAL_CAPACITY];

  private final Deque<Integer> unused = new ArrayDeque<>();

  /** The next value never used; 0 stands for nothing. */
  private int fresh = 1;

  /**
   * Gives an object a value.
   *
   * @param owner with whom it goes down
   */
  public synchronized long add(Object object, Object owner) {
    if (unused.size() <= REST && fresh == MAX_VALUES) {
      throw new GpuException(
          CudaStatus.OUT_OF_MEMORY,
          MAX_VALUES + " texture and surface objects, with those that kernels may still read");
    }
    int value = unused.size() > REST ? unused.poll() : fresh++;
    grow(value);
    put(value, object, owner);
    return value;
  }

  private void grow(int value) {
    if (value >= owners.length) {
      objects = Arrays.copyOf(objects, 2 * owners.length);
      owners = Arrays.copyOf(owners, 2 * owners.length);
    }
  }

  private void put(int value, Object object, Object owner) {
    @Nullable Object[] current = objects;
    current[value] = object;
    owners[value] = owner;
    // Written even where the array stays, so that readers on other threads see the entry.
    objects = current;
  }

  /**
   * Gives an object a value that stands for nothing yet.
   *
   * @throws GpuException INVALID_VALUE if it cannot
   */
  public synchronized void addAt(long value, Object object, Object owner) {
    if (value <= 0 || value >= MAX_VALUES) {
      throw new GpuException(CudaStatus.INVALID_VALUE, value + " is no value of a texture");
    }
    while (fresh <= value) {
      grow(fresh);
      unused.add(fresh++);
    }
    if (!unused.remove((Integer) (int) value)) {
      throw new GpuException(CudaStatus.INVALID_VALUE, value + " is another texture object");
    }
    put((int) value, object, owner);
  }

  /** What a value stands for; null if for nothing, or for something else. */
  public <T> @Nullable T find(long value, Class<T> type) {
    @Nullable Object[] current = objects;
    if (value <= 0 || value >= current.length || !type.isInstance(current[(int) value])) {
      return null;
    }
    return type.cast(current[(int) value]);
  }

  /**
   * What a value stands for.
   *
   * @throws GpuException INVALID_VALUE if it stands for nothing, or for something else
   */
  public <T> T require(long value, Class<T> type) {
    T found = find(value, type);
    if (found == null) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, value + " is no " + type.getSimpleName() + " object");
    }
    return found;
  }

  /** Forgets a value if it still stands for this object. */
  public synchronized void remove(long value, Object object) {
    if (objects[(int) value] == object) {
      forget((int) value);
    }
  }

  /** Forgets all that was made for an owner. */
  public synchronized void removeOwnedBy(Object owner) {
    for (int value = 1; value < fresh; value++) {
      if (owners[value] == owner) {
        forget(value);
      }
    }
  }

  private void forget(int value) {
    objects[value] = null;
    owners[value] = null;
    unused.add(value);
  }
}
