// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.runtime;

/**
 * Questions that a kernel may ask about its device and the kernels of its module. Each method fails
 * with a {@link RuntimeCallException}. Called by worker threads.
 */
public interface DeviceQueries {
  /** Returns the device's ordinal in the program. */
  int device();

  int deviceCount();

  /** Returns a cudaDeviceAttr of a device. */
  int attribute(int attribute, int device);

  /** Returns a cudaLimit. */
  long limit(int limit);

  /** Returns a CUfunction_attribute of a kernel. */
  int functionAttribute(long function, int attribute);

  /** Returns the number of blocks of a kernel that a multiprocessor holds. */
  int blocksPerMultiprocessor(long function, int threads, long dynamicSharedBytes);

  /** Returns the device address of the name of a cudaError. */
  long errorName(int error);

  /** Returns the device address of the description of a cudaError. */
  long errorText(int error);
}
