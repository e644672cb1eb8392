// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.state;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Numbers for the objects that driver calls name by handles. A number is used again after its
 * object is gone. Any thread may look up.
 */
public final class Handles {
  /** Below this lie the handles that have a meaning of their own. */
  private static final int FIRST = 0x1000;

  private static final int INITIAL_CAPACITY = 256;

  /**
   * Entries are written under the lock of this; a reader may see an older array, never a torn one.
   */
  private volatile @Nullable Object[] objects = new Object[INITIAL_CAPACITY];

  private final Deque<Integer> unused = new ArrayDeque<>();
  private int size;

  public synchronized long add(Object object) {
    Integer index = unused.poll();
    if (index == null) {
      index = size++;
    }
    @Nullable Object[] current = objects;
    if (index == current.length) {
      current = Arrays.copyOf(current, 2 * current.length);
    }
    current[index] = object;
    // Written even where the array stays, so that readers on other threads see the entry.
    objects = current;
    return FIRST + (long) index;
  }

  /**
   * The object of a handle.
   *
   * @throws GpuException INVALID_HANDLE if the handle names nothing, or something else
   */
  public <T> T get(long handle, Class<T> type) {
    long index = handle - FIRST;
    @Nullable Object[] current = objects;
    if (index < 0 || index >= current.length || !type.isInstance(current[(int) index])) {
      throw new GpuException(
          CudaStatus.INVALID_HANDLE, handle + " is no handle of a " + type.getSimpleName());
    }
    return requireNonNull(type.cast(current[(int) index]));
  }

  /** Forgets a handle that {@link #get} would find, and gives what it named. */
  public synchronized <T> T remove(long handle, Class<T> type) {
    T object = get(handle, type);
    int index = (int) (handle - FIRST);
    objects[index] = null;
    unused.push(index);
    return object;
  }
}
