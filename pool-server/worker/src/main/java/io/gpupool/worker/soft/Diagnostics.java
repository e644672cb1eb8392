// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.io.PrintStream;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The reasons why code of one session's program cannot run, which a result code alone does not
 * tell: each once to the program and once to the worker's log, and not endlessly many. For any
 * thread.
 */
final class Diagnostics {
  private static final int MOST = 50;

  private final PrintStream log;
  private final Consumer<String> program;
  private final Set<String> written = new HashSet<>();
  private volatile String session = "";

  /**
   * Of no session yet.
   *
   * @param program takes lines, each ended, for the program's standard error
   */
  Diagnostics(PrintStream log, Consumer<String> program) {
    this.log = log;
    this.program = program;
  }

  /** Names the session in the lines of the log from now on. */
  void nameSession(String name) {
    session = name + ": ";
  }

  void note(GpuException failure) {
    if (concernsCode(failure.status())) {
      write(failure.status(), failure.getMessage());
    }
  }

  private static boolean concernsCode(CudaStatus status) {
    return switch (status) {
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
  }

  private static String advice(CudaStatus status) {
    return switch (status) {
      case NO_BINARY_FOR_GPU -> "; build the program with PTX, such as -arch=compute_90";
      case NOT_SUPPORTED -> "; docs/software-gpu.md says what the software GPU runs";
      case ILLEGAL_ADDRESS, MISALIGNED_ADDRESS, INVALID_ADDRESS_SPACE ->
          "; GPUPOOL_SOFT_CHECK=1 reports threads and allocations";
      default -> "";
    };
  }

  private synchronized void write(CudaStatus status, String message) {
    String line = "CUDA_ERROR_" + status + ": " + message;
    if (written.size() < MOST && written.add(line)) {
      log.println("gpupool worker: " + session + line);
      if (status != CudaStatus.ASSERT) {
        // An assertion has said so itself, as on a card.
        program.accept("gpupool: " + line + advice(status) + "\n");
      }
    }
  }
}
