// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import java.util.Optional;

/**
 * The command line of a worker.
 *
 * @param control name of the pool-server's control socket; empty with {@code probe}
 * @param gpus {@code all} for the GPUs of the NVIDIA driver, or a specification of software GPUs
 * @param libcuda the driver library
 * @param skipMissingPtx whether launches without PTX are skipped rather than refused
 * @param probe whether to print the GPUs and exit
 */
record WorkerOptions(
    Optional<String> control, String gpus, String libcuda, boolean skipMissingPtx, boolean probe) {
  static final String USAGE =
      "usage: WorkerMain (--control @NAME | --probe) --gpus all|soft:N[,mem=SIZE][,cc=X.Y]"
          + " [--libcuda PATH] [--soft-missing-ptx=fail|skip]";
  private static final String DEFAULT_LIBCUDA = "libcuda.so.1";
  private static final String MISSING_PTX = "--soft-missing-ptx=";

  /**
   * Reads the command line.
   *
   * @throws IllegalArgumentException naming what cannot be understood
   */
  static WorkerOptions parse(String[] arguments) {
    Optional<String> control = Optional.empty();
    String gpus = "all";
    String libcuda = DEFAULT_LIBCUDA;
    boolean skip = false;
    boolean probe = false;
    for (int i = 0; i < arguments.length; i++) {
      String option = arguments[i];
      switch (option) {
        case "--probe" -> probe = true;
        case "--control" -> control = Optional.of(value(arguments, ++i));
        case "--gpus" -> gpus = value(arguments, ++i);
        case "--libcuda" -> libcuda = value(arguments, ++i);
        default -> {
          if (!option.startsWith(MISSING_PTX)) {
            throw new IllegalArgumentException("unknown option " + option + "; " + USAGE);
          }
          skip = isSkip(option.substring(MISSING_PTX.length()));
        }
      }
    }
    if (probe == control.isPresent()) {
      throw new IllegalArgumentException("either --control or --probe; " + USAGE);
    }
    return new WorkerOptions(control, gpus, libcuda, skip, probe);
  }

  boolean isSoft() {
    return gpus.startsWith("soft");
  }

  private static boolean isSkip(String value) {
    return switch (value) {
      case "skip" -> true;
      case "fail" -> false;
      default -> throw new IllegalArgumentException(MISSING_PTX + " is fail or skip, not " + value);
    };
  }

  private static String value(String[] arguments, int index) {
    if (index == arguments.length) {
      throw new IllegalArgumentException(arguments[index - 1] + " needs a value; " + USAGE);
    }
    return arguments[index];
  }
}
