// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.runtime;

import io.gpupool.soft.Dim3;

/**
 * CUDA's device runtime as the threads of one block see it: launches, streams and events of their
 * grid. Each method fails with a {@link RuntimeCallException}. Called by the worker thread that
 * runs the block.
 */
public interface BlockRuntime {
  /** Answers about the device and its kernels. */
  DeviceQueries queries();

  /**
   * Device memory for the parameters of a launch to come.
   *
   * @return its address
   */
  long parameterBuffer(long alignment, long bytes);

  /**
   * As above, for a launch whose shape is known and which {@link #launch(int, long, long)} makes.
   */
  long parameterBuffer(ChildLaunch launch);

  /** Launches the kernel that a parameter buffer was made for. */
  void launch(int thread, long buffer, long stream);

  /**
   * Launches a kernel.
   *
   * @param buffer with the parameters; 0 for a kernel without any
   */
  void launch(int thread, ChildLaunch launch, long buffer, long stream);

  /** Copies a box of global memory. */
  void copy(int thread, Box to, Box from, long stream);

  /** Fills a box of global memory with a byte. */
  void fill(int thread, Box to, int value, long stream);

  /** Makes a stream; returns its handle. */
  long createStream(int flags);

  void destroyStream(long stream);

  /** Makes an event; returns its handle. */
  long createEvent(int flags);

  void destroyEvent(long event);

  void record(int thread, long event, long stream);

  void await(int thread, long stream, long event);

  /** Whether all that threads of this block have launched is done. */
  boolean launchesDone();

  /**
   * A launch as a kernel asks for it; nothing of it is checked yet.
   *
   * @param function the address that stands for the kernel
   */
  record ChildLaunch(long function, Dim3 grid, Dim3 block, int dynamicSharedBytes) {}

  /**
   * A box of global memory; nothing of it is checked yet.
   *
   * @param pitchBytes from row to row
   * @param sliceRows from slice to slice
   */
  record Box(
      long address, long pitchBytes, long sliceRows, long widthBytes, long rows, long slices) {}
}
