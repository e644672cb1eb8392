// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

/** What a session must know of a backend besides the driver calls. */
public interface BackendTraits {
  /**
   * Whether device memory is memory of this process, so that a device address may be read and
   * written here. The session then checks the range of every copy itself and waits for the stream
   * before it touches the bytes.
   */
  default boolean directMemory() {
    return false;
  }

  /**
   * Sets where bytes printed by kernels go, in order; called once, before any launch. Backends
   * whose driver prints by itself ignore it.
   */
  default void printTo(PrintSink sink) {}

  /** Takes bytes that a kernel printed; may be called from any thread. */
  interface PrintSink {
    /** Takes bytes; the array is the sink's afterwards. */
    void print(byte[] bytes);
  }
}
