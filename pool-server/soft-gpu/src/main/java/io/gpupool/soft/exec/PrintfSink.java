// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

/** Takes what kernels print; called from the worker threads, one whole {@code printf} a call. */
@FunctionalInterface
public interface PrintfSink {
  void print(byte[] text);
}
