// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.host;

/** The machine's memory that this process may use. For any thread. */
public interface HostMemory {
  /** Memory that can be taken now before anything is killed or swapped out. */
  long availableBytes();

  /** Private memory that a process has in RAM; 0 where that cannot be read. */
  long residentBytes(long pid);
}
