// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

/** A receiver of the output of kernels; called by the worker threads, once per {@code printf}. */
@FunctionalInterface
public interface PrintfSink {
  /** Where text belongs. */
  enum Stream {
    /** The program's standard output. */
    OUTPUT,
    /** Its standard error: failed assertions. */
    ERROR,
    /** Its standard error, if it asked for reports of faults. */
    REPORT
  }

  void print(byte[] text);

  /** Takes text for one of the streams; sinks that know only one leave reports out. */
  default void print(Stream stream, byte[] text) {
    if (stream != Stream.REPORT) {
      print(text);
    }
  }
}
