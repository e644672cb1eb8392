// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.call;

import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.PrintfSink;
import java.nio.charset.StandardCharsets;

/**
 * The functions that every kernel may call: {@code malloc}, {@code free}, {@code vprintf}, and the
 * failure of {@code assert}. Called by generated code.
 */
public final class BuiltInFunctions {
  private BuiltInFunctions() {}

  /** Allocates device memory; returns its address, or 0. */
  public static long malloc(ThreadBlock block, long bytes) {
    return block.services().heap().allocate(bytes);
  }

  /** Frees what {@link #malloc} allocated. */
  public static void free(ThreadBlock block, long address) {
    if (address != 0 && !block.services().heap().free(address)) {
      throw new DeviceFaultException(
          KernelFaultException.ILLEGAL_ADDRESS,
          "free of 0x" + Long.toHexString(address) + ", which malloc did not give");
    }
  }

  /** Prints; returns the number of characters. */
  public static int vprintf(ThreadBlock block, int thread, long format, long arguments) {
    String text = Printf.format(block, thread, format, arguments);
    block.services().printf().print(text.getBytes(StandardCharsets.UTF_8));
    return text.length();
  }

  /**
   * Notes and prints the failure of an assertion; the thread ends.
   *
   * @param message address of the asserted expression, as of the other texts
   */
  public static void assertFail(
      ThreadBlock block, int thread, long message, long file, int line, long function) {
    String text =
        Printf.string(block, thread, file)
            + ":"
            + line
            + ": "
            + Printf.string(block, thread, function)
            + ": block: ["
            + block.coordinates()
            + "], thread: ["
            + block.coordinates(thread)
            + "] Assertion `"
            + Printf.string(block, thread, message)
            + "` failed.";
    block.assertions().fail(thread, text);
    byte[] printed = (text + "\n").getBytes(StandardCharsets.UTF_8);
    block.services().printf().print(PrintfSink.Stream.ERROR, printed);
  }
}
