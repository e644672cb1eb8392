// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.List;

/**
 * The services by which a session is made again in another process, with the same addresses. The
 * session's thread calls them, unless said otherwise.
 */
public interface Relocation {
  /**
   * The address where the memory of a GPU begins.
   *
   * @param gpu the backend's ordinal
   */
  long memoryBase(int gpu);

  /** Notes the numbers that the backend chooses in this thread from now on. */
  void beginNoting();

  /** Returns the numbers chosen since then: addresses, values of textures. */
  long[] noted();

  /** Begins or ends the time in which a session is made again. */
  void setRestoring(boolean restoring);

  /** Has the backend use these numbers for what is made next. */
  void plan(long[] numbers);

  /** Returns whether it has used all of them. */
  boolean isPlanUsedUp();

  /** Writes down what a context has for its own needs, when no work of it is under way. */
  void saveContext(long context, DataOutput to) throws IOException;

  /** Gives a new context what was written down; returns a CUresult. */
  int restoreContext(long context, DataInput from) throws IOException;

  /** The nanoseconds from an event's record to a time; {@link Long#MIN_VALUE} if it has none. */
  long eventAge(long event, long nowNanos);

  /** Makes an event one that was recorded, and reached, so long before a time. */
  void setEventAge(long event, long ageNanos, long nowNanos);

  /**
   * The memory of a GPU that is allocated or mapped; any thread may ask, and read it where it is.
   *
   * @param gpu the backend's ordinal
   */
  List<MemoryRange> memory(int gpu);

  /** Makes addresses usable whose memory will be allocated later; returns a CUresult. */
  int stage(long address, long lengthBytes);
}
