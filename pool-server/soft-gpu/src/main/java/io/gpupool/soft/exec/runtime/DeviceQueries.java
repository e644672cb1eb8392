// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.runtime;

/**
 * Questions that a kernel may ask about its device and the kernels of its module. Each method fails
 * with a {@link RuntimeCallException}. Called by worker threads.
 */
public interface DeviceQueries {
  /** The device's ordinal in the program. */
  int device();

  int deviceCount();

  /** A cudaDeviceAttr. */
  int attribute(int attribute, int device);

  /** A cudaLimit. */
  long limit(int limit);

  /** What is known of a kernel. */
  FunctionAttributes attributes(long function);

  /** Blocks of a kernel that a multiprocessor holds. */
  int blocksPerMultiprocessor(long function, int threads, long dynamicSharedBytes);

  /** Device address of the name of a cudaError. */
  long errorName(int error);

  /** Device address of the description of a cudaError. */
  long errorText(int error);

  /** What {@code cudaFuncAttributes} holds, in its order. */
  record FunctionAttributes(
      long sharedBytes,
      long constBytes,
      long localBytes,
      int maxThreadsPerBlock,
      int registers,
      int ptxVersion,
      int binaryVersion,
      int cacheMode,
      int maxDynamicSharedBytes,
      int carveoutPercent) {}
}
