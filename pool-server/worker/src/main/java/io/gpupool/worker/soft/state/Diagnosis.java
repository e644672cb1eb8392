// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.state;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.util.Optional;

/**
 * The reason why code of the program cannot run, and what to do about it, as text of one line.
 * Names that the program chose are in it, so it is bounded, and free of control characters that
 * would forge lines of a log or steer a terminal. Immutable.
 */
public record Diagnosis(CudaStatus status, String reason, String advice) {
  private static final int MAX_REASON_CHARS = 600;

  /** The beginning of their names: in the C++ namespace at::native. */
  private static final String KERNELS_OF_PYTORCH = "_ZN2at6native";

  /** The diagnosis of a failure; empty if the failure is not about the program's code. */
  public static Optional<Diagnosis> of(GpuException failure) {
    String advice =
        switch (failure.status()) {
          case NO_BINARY_FOR_GPU ->
              String.valueOf(failure.getMessage()).contains(KERNELS_OF_PYTORCH)
                  ? "set GPUPOOL_TORCH_FALLBACK=cpu to have the processor compute what PyTorch has no"
                      + " PTX for"
                  : "docs/reference/software-gpu.md describes the code that a software GPU runs";
          case INVALID_IMAGE -> "pass PTX text, a fat binary with PTX or a cubin, complete";
          case INVALID_PTX -> "correct the PTX at this line, or compile its source again";
          case UNSUPPORTED_PTX_VERSION -> "compile the program with an older CUDA toolkit";
          case NOT_SUPPORTED, UNSUPPORTED_DEVSIDE_SYNC ->
              "docs/reference/software-gpu.md lists what the software GPU supports";
          case ILLEGAL_ADDRESS, MISALIGNED_ADDRESS, INVALID_ADDRESS_SPACE ->
              "set GPUPOOL_SOFT_CHECK=1 for the thread and the allocation";
          case HARDWARE_STACK_ERROR -> "look for a recursion without an end in the kernel";
          case INVALID_PC -> "look for a function pointer that is null or overwritten";
          case LAUNCH_TIMEOUT -> "look for a wait in the kernel that nothing ends";
          case ASSERT -> "the kernel's own message has the condition and the source line";
          case ILLEGAL_INSTRUCTION, LAUNCH_FAILED ->
              "look at this place of the kernel, or compile with -lineinfo and set"
                  + " GPUPOOL_SOFT_CHECK=1";
          case UNKNOWN -> "this is a defect of gpupool: please report it with this line";
          default -> "";
        };
    return advice.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new Diagnosis(failure.status(), oneLine(String.valueOf(failure.getMessage())), advice));
  }

  /** The line with the name of the result code. */
  String line() {
    return "CUDA_ERROR_" + status + ": " + jitLog();
  }

  /** The line as the log of a just-in-time compilation has it, whose reader knows the code. */
  public String jitLog() {
    return reason + "; " + advice;
  }

  private static String oneLine(String text) {
    StringBuilder line = new StringBuilder();
    int at = 0;
    while (at < text.length() && line.length() < MAX_REASON_CHARS) {
      int character = text.codePointAt(at);
      if (isPlain(character)) {
        line.appendCodePoint(character);
      } else {
        line.append(String.format("\\u{%x}", character));
      }
      at += Character.charCount(character);
    }
    return at < text.length() ? line.append("...").toString() : line.toString();
  }

  private static boolean isPlain(int character) {
    return switch (Character.getType(character)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.SURROGATE,
          Character.PRIVATE_USE,
          Character.UNASSIGNED ->
          false;
      default -> true;
    };
  }
}
