// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Permission for one thread to submit an operation again and again without the gate's lock, while
 * its lease is alone on the GPU. The gate takes it back before it does anything with the batch that
 * these operations are part of.
 */
final class Express implements Passage {
  /*
   * The thread says that it is in a call and then looks whether the permission still holds; the gate
   * takes the permission back and then looks whether the thread is in a call. One of them sees the
   * other.
   */
  private static final VarHandle CALLING;

  static {
    try {
      CALLING = MethodHandles.lookup().findVarHandle(Express.class, "isCalling", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Thread thread = Thread.currentThread();
  private final long context;
  private final long stream;
  private final long key;
  private final int limit;
  private int count;
  private boolean hasFailed;
  private volatile boolean isCalling;
  private volatile boolean isRevoked;

  /**
   * Gives the calling thread permission.
   *
   * @param limit how often it may use it
   */
  Express(long context, long stream, long key, int limit) {
    this.context = context;
    this.stream = stream;
    this.key = key;
    this.limit = limit;
  }

  /** Returns whether an operation may be submitted so; {@link #exit} must follow then. */
  boolean admits(long itsContext, long itsStream, long itsKey) {
    if (itsKey != key
        || itsStream != stream
        || itsContext != context
        || thread != Thread.currentThread()
        || count == limit) {
      return false;
    }
    isCalling = true;
    if (isRevoked) {
      isCalling = false;
      return false;
    }
    count++;
    return true;
  }

  @Override
  public void exit(int result) {
    if (result != 0) {
      hasFailed = true;
    }
    CALLING.setRelease(this, false);
  }

  /**
   * Takes the permission back.
   *
   * @return false while an operation is being submitted
   */
  boolean revoke() {
    isRevoked = true;
    return !isCalling;
  }

  /** Returns the number of operations that were submitted so; known once it is revoked. */
  int count() {
    return count;
  }

  /** Returns whether one of them was not submitted after all. */
  boolean hasFailed() {
    return hasFailed;
  }
}
