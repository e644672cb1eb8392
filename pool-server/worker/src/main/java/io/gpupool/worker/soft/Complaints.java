// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.GpuException;
import java.io.PrintStream;
import java.util.HashSet;
import java.util.Set;

/**
 * Writes to the worker's log why code of the program cannot run, which a result code alone does not
 * tell. Each reason once, and not endlessly many. Any thread may call it.
 */
final class Complaints {
  private static final int MOST = 50;

  private final PrintStream log;
  private final Set<String> written = new HashSet<>();

  Complaints(PrintStream log) {
    this.log = log;
  }

  void note(GpuException failure) {
    boolean telling =
        switch (failure.status()) {
          case NO_BINARY_FOR_GPU,
              INVALID_IMAGE,
              INVALID_PTX,
              UNSUPPORTED_PTX_VERSION,
              NOT_SUPPORTED,
              ILLEGAL_ADDRESS,
              LAUNCH_TIMEOUT,
              ASSERT,
              HARDWARE_STACK_ERROR,
              ILLEGAL_INSTRUCTION,
              MISALIGNED_ADDRESS,
              INVALID_ADDRESS_SPACE,
              INVALID_PC,
              LAUNCH_FAILED,
              UNKNOWN ->
              true;
          default -> false;
        };
    if (telling) {
      write("gpupool worker: " + failure.status() + ": " + failure.getMessage());
    }
  }

  private synchronized void write(String line) {
    if (written.size() < MOST && written.add(line)) {
      log.println(line);
    }
  }
}
