// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import io.gpupool.nccl.NcclSearch;
import io.gpupool.wire.InFlightBound;
import org.jspecify.annotations.Nullable;

/**
 * The command line of a worker.
 *
 * @param mode what the process does
 * @param control name of the pool-server's control socket; of {@link Mode#SERVE} alone
 * @param listen path of the socket on which a later pool-server claims the worker; null: it ends
 *     with its pool-server
 * @param gpus {@code all} for the GPUs of the NVIDIA driver, or a specification of software GPUs
 * @param skipMissingPtx whether launches without PTX are skipped rather than refused
 * @param driver how NVIDIA's driver is used
 * @param libnccl where NVIDIA's NCCL is: a path, or a word of {@code NcclSearch}
 * @param seals whether call streams are likely to be sealed
 */
record WorkerOptions(
    Mode mode,
    @Nullable String control,
    @Nullable String listen,
    String gpus,
    boolean skipMissingPtx,
    Driver driver,
    String libnccl,
    boolean seals) {
  static final String USAGE =
      "usage: WorkerMain (--control @NAME [--listen PATH] [--late] [--seals] | --probe"
          + " [--undivided] | --watch | --trial) --gpus all|soft:N[,mem=SIZE][,cc=X.Y] [--libcuda PATH] [--libnvml"
          + " PATH] [--libnccl PATH|newest|off|none] [--no-time-slices | --in-flight-bound MILLIS] [--context-memory BYTES] [--movable]"
          + " [--soft-missing-ptx=fail|skip]";
  private static final String MISSING_PTX = "--soft-missing-ptx=";

  /**
   * Use of NVIDIA's driver.
   *
   * @param libcuda the driver library
   * @param libnvml the driver's management library
   * @param timeSliced whether leases run in time slices
   * @param inFlightBoundMillis the expected time of the work in flight while another lease waits
   * @param contextBytes memory of a GPU that a context takes by itself; 0 if it is not known
   * @param movable whether sessions get memory at addresses that they can have elsewhere, too
   * @param late whether the driver is first used when a session is assigned, which says what of the
   *     driver it sees
   * @param undivided whether a probe asks the driver even where cards are divided (MIG), because
   *     the environment says which part it is to see
   */
  record Driver(
      String libcuda,
      String libnvml,
      boolean timeSliced,
      int inFlightBoundMillis,
      long contextBytes,
      boolean movable,
      boolean late,
      boolean undivided) {}

  /** Task of a worker process. */
  enum Mode {
    /** Waits for a session and runs it. */
    SERVE,
    /** Prints the GPUs and ends. */
    PROBE,
    /** Prints the state of the GPUs, again and again. */
    WATCH,
    /** Runs a kernel on the first GPU, and ends with 0 if that succeeds. */
    TRIAL
  }

  /**
   * Reads the command line.
   *
   * @throws IllegalArgumentException naming what cannot be understood
   */
  static WorkerOptions parse(String[] arguments) {
    return new Parser(arguments).parse();
  }

  boolean isSoft() {
    return gpus.startsWith("soft");
  }

  /** Reader of a command line. For one use. */
  private static final class Parser {
    private final String[] arguments;
    private int at;
    private @Nullable Mode mode;
    private @Nullable String control;
    private @Nullable String listen;
    private String gpus = "all";
    private String libcuda = "libcuda.so.1";
    private String libnvml = "libnvidia-ml.so.1";
    private String libnccl = NcclSearch.NEWEST;
    private boolean skip;
    private boolean timeSliced = true;
    private int inFlightBoundMillis = InFlightBound.USUAL_MILLIS;
    private long contextBytes;
    private boolean movable;
    private boolean late;
    private boolean undivided;
    private boolean seals;

    Parser(String[] arguments) {
      this.arguments = arguments;
    }

    WorkerOptions parse() {
      while (at < arguments.length) {
        option(arguments[at++]);
      }
      if (mode == null) {
        throw new IllegalArgumentException(
            "one of --control, --probe, --watch and --trial is wanted; " + USAGE);
      }
      Driver driver =
          new Driver(
              libcuda,
              libnvml,
              timeSliced,
              inFlightBoundMillis,
              contextBytes,
              movable,
              late,
              undivided);
      return new WorkerOptions(mode, control, listen, gpus, skip, driver, libnccl, seals);
    }

    private void option(String option) {
      switch (option) {
        case "--probe" -> mode(Mode.PROBE);
        case "--watch" -> mode(Mode.WATCH);
        case "--trial" -> mode(Mode.TRIAL);
        case "--control" -> {
          mode(Mode.SERVE);
          control = value();
        }
        case "--listen" -> listen = value();
        case "--late" -> late = true;
        case "--no-time-slices" -> timeSliced = false;
        case "--in-flight-bound" -> inFlightBoundMillis = InFlightBound.parse(value());
        case "--context-memory" -> contextBytes = Long.parseUnsignedLong(value());
        case "--movable" -> movable = true;
        case "--undivided" -> undivided = true;
        case "--seals" -> seals = true;
        case "--gpus" -> gpus = value();
        case "--libcuda" -> libcuda = value();
        case "--libnvml" -> libnvml = value();
        case "--libnccl" -> libnccl = value();
        default -> {
          if (!option.startsWith(MISSING_PTX)) {
            throw new IllegalArgumentException("unknown option " + option + "; " + USAGE);
          }
          skip = isSkip(option.substring(MISSING_PTX.length()));
        }
      }
    }

    private void mode(Mode wanted) {
      if (mode != null) {
        throw new IllegalArgumentException(
            "one of --control, --probe, --watch and --trial, not several; " + USAGE);
      }
      mode = wanted;
    }

    private static boolean isSkip(String value) {
      return switch (value) {
        case "skip" -> true;
        case "fail" -> false;
        default ->
            throw new IllegalArgumentException(MISSING_PTX + " is fail or skip, not " + value);
      };
    }

    private String value() {
      if (at == arguments.length) {
        throw new IllegalArgumentException(arguments[at - 1] + " needs a value; " + USAGE);
      }
      return arguments[at++];
    }
  }
}
