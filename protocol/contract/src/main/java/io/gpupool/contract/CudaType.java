// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

/**
 * A type of the CUDA driver API as 64-bit platforms lay it out.
 *
 * @param kind what sort of type it is
 * @param name its C name
 * @param sizeBytes its size
 * @param alignBytes its alignment
 */
public record CudaType(Kind kind, String name, int sizeBytes, int alignBytes) {
  /** The sorts of types. */
  public enum Kind {
    /** An opaque pointer. */
    HANDLE,
    /** A C enum: an int. */
    ENUM,
    /** An integer. */
    SCALAR,
    /** Bytes of a fixed size. */
    STRUCT,
    /** A pointer to a function of the program. */
    CALLBACK
  }
}
