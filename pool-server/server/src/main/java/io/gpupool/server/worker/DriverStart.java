// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

/** The moment at which the driver in a server's workers starts. */
public enum DriverStart {
  /** There is none: the GPUs are in software. */
  NEVER,
  /** In spare workers, so that a program need not wait for it. */
  EARLY,
  /**
   * When a worker is assigned, because the assignment says what it is to see of the GPUs: slices of
   * cards (MIG), or part of them (MPS).
   */
  ASSIGNED
}
