// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import io.gpupool.wire.InFlightBound;
import java.util.Optional;

/**
 * The command line of a worker.
 *
 * @param mode what the process does
 * @param control name of the pool-server's control socket; of {@link Mode#SERVE} alone
 * @param gpus {@code all} for the GPUs of the NVIDIA driver, or a specification of software GPUs
 * @param libcuda the driver library
 * @param libnvml the driver's management library
 * @param skipMissingPtx whether launches without PTX are skipped rather than refused
 * @param timeSliced whether time slices of the driver's GPUs are taken
 * @param inFlightBoundMillis what may be under way there while another waits for its time slice
 * @param contextBytes memory of a GPU that a context takes by itself; 0 if it is not known
 * @param late whether the driver is first used when a session is assigned, which says what of the
 *     driver it sees
 * @param undivided whether a probe asks the driver even where cards are divided (MIG), because the
 *     environment says which part it is to see
 */
record WorkerOptions(
    Mode mode,
    Optional<String> control,
    String gpus,
    String libcuda,
    String libnvml,
    boolean skipMissingPtx,
    boolean timeSliced,
    int inFlightBoundMillis,
    long contextBytes,
    boolean late,
    boolean undivided) {
  static final String USAGE =
      "usage: WorkerMain (--control @NAME [--late] | --probe [--undivided] | --watch | --trial) --gpus"
          + " all|soft:N[,mem=SIZE][,cc=X.Y] [--libcuda PATH] [--libnvml PATH]"
          + " [--no-time-slices | --in-flight-bound MILLIS] [--context-memory BYTES]"
          + " [--soft-missing-ptx=fail|skip]";
  private static final String MISSING_PTX = "--soft-missing-ptx=";

  /** What a worker process does. */
  enum Mode {
    /** Waits for a session and runs it. */
    SERVE,
    /** Prints the GPUs and ends. */
    PROBE,
    /** Prints how the GPUs are, again and again. */
    WATCH,
    /** Has the first GPU do something, and ends with 0 if it did. */
    TRIAL
  }

  /**
   * Reads the command line.
   *
   * @throws IllegalArgumentException naming what cannot be understood
   */
  static WorkerOptions parse(String[] arguments) {
    Optional<Mode> mode = Optional.empty();
    Optional<String> control = Optional.empty();
    String gpus = "all";
    String libcuda = "libcuda.so.1";
    String libnvml = "libnvidia-ml.so.1";
    boolean skip = false;
    boolean timeSliced = true;
    int inFlightBoundMillis = InFlightBound.USUAL_MILLIS;
    long contextBytes = 0;
    boolean late = false;
    boolean undivided = false;
    for (int i = 0; i < arguments.length; i++) {
      String option = arguments[i];
      switch (option) {
        case "--probe" -> mode = only(mode, Mode.PROBE);
        case "--watch" -> mode = only(mode, Mode.WATCH);
        case "--trial" -> mode = only(mode, Mode.TRIAL);
        case "--control" -> {
          mode = only(mode, Mode.SERVE);
          control = Optional.of(value(arguments, ++i));
        }
        case "--late" -> late = true;
        case "--no-time-slices" -> timeSliced = false;
        case "--in-flight-bound" ->
            inFlightBoundMillis = InFlightBound.parse(value(arguments, ++i));
        case "--context-memory" -> contextBytes = Long.parseUnsignedLong(value(arguments, ++i));
        case "--undivided" -> undivided = true;
        case "--gpus" -> gpus = value(arguments, ++i);
        case "--libcuda" -> libcuda = value(arguments, ++i);
        case "--libnvml" -> libnvml = value(arguments, ++i);
        default -> {
          if (!option.startsWith(MISSING_PTX)) {
            throw new IllegalArgumentException("unknown option " + option + "; " + USAGE);
          }
          skip = isSkip(option.substring(MISSING_PTX.length()));
        }
      }
    }
    return new WorkerOptions(
        mode.orElseThrow(() ->
            new IllegalArgumentException(
                "one of --control, --probe, --watch and --trial is wanted; " + USAGE)),
        control,
        gpus,
        libcuda,
        libnvml,
        skip,
        timeSliced,
        inFlightBoundMillis,
        contextBytes,
        late,
        undivided);
  }

  boolean isSoft() {
    return gpus.startsWith("soft");
  }

  private static Optional<Mode> only(Optional<Mode> before, Mode mode) {
    if (before.isPresent()) {
      throw new IllegalArgumentException(
          "one of --control, --probe, --watch and --trial, not several; " + USAGE);
    }
    return Optional.of(mode);
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
