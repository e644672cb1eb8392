// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

/**
 * A result of the driver API.
 *
 * @param code the CUresult
 * @param name its name without {@code CUDA_ERROR_}
 * @param sticky whether every later call of the context returns the same
 * @param text the sentence of {@code cuGetErrorString}
 */
public record CudaResultCode(int code, String name, boolean sticky, String text) {
  /** Returns the name in cuda.h. */
  String cName() {
    return code == 0 ? "CUDA_SUCCESS" : "CUDA_ERROR_" + name;
  }
}
