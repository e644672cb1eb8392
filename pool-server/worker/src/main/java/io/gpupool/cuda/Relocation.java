// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * The services by which a session is made again in another process, with the same addresses. The
 * session's thread calls them, unless said otherwise.
 */
public interface Relocation {
  /** The age of an event that has none. */
  long NO_AGE = Long.MIN_VALUE;

  /**
   * The address where the memory of a GPU begins.
   *
   * @param gpu the backend's ordinal
   */
  long memoryBase(int gpu);

  /**
   * Returns what the backend has that it cannot make again elsewhere, if there is such a thing. Any
   * thread may ask.
   */
  default Optional<String> fixed() {
    return Optional.empty();
  }

  /**
   * Returns what an op has made that the backend cannot make again elsewhere, if it is such an op.
   */
  default Optional<String> fixed(int op) {
    return Optional.empty();
  }

  /** Notes the numbers that the backend chooses for the session's thread from now on. */
  void beginNoting();

  /** Returns the numbers chosen since then: addresses, values of textures. */
  long[] noted();

  /** Begins or ends the time in which a session is made again. */
  void setRestoring(boolean restoring);

  /** Has the backend use these numbers for what is made next. */
  void plan(long[] numbers);

  /** Returns whether it has used all of them. */
  boolean isPlanUsedUp();

  /** Returns how what was made last differs from what was planned, where the backend knows. */
  default Optional<String> difference() {
    return Optional.empty();
  }

  /** Writes down what a context has for its own needs, when no work of it is under way. */
  void saveContext(long context, DataOutput to) throws IOException;

  /** Gives a new context what was written down; returns a CUresult. */
  int restoreContext(long context, DataInput from) throws IOException;

  /**
   * Returns the nanoseconds from each event's record to a time; {@link #NO_AGE} for one that was
   * not recorded, or has no time.
   *
   * @param context of the events
   */
  long[] eventAges(long context, long[] events, long nowNanos);

  /** Makes events ones that were recorded, and reached, so long before a time. */
  void setEventAges(long context, long[] events, long[] agesNanos, long nowNanos);

  /**
   * The memory of a GPU that is allocated or mapped; any thread may ask.
   *
   * @param gpu the backend's ordinal
   */
  List<MemoryRange> memory(int gpu);

  /** Opens a window onto the memory of all GPUs; any thread may. */
  MemoryWindow openWindow();

  /** Makes addresses usable whose memory will be allocated later; returns a CUresult. */
  int stage(long address, long lengthBytes);
}
