// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.driver;

import io.gpupool.wire.InFlightBound;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;

/**
 * The options for NVIDIA's driver.
 *
 * @param libcuda the driver's library, if it is not on the usual path
 * @param libnvml its management library, likewise
 * @param contextBytes GPU memory that each context takes by itself; empty: it is measured
 * @param sharing how the programs of several leases run on one GPU
 * @param inFlightBoundMillis how long the work in progress may take while another lease, or
 *     program, waits for its time slice; longer for a single operation that takes longer
 */
public record DriverOptions(
    Optional<Path> libcuda,
    Optional<Path> libnvml,
    OptionalLong contextBytes,
    Sharing sharing,
    int inFlightBoundMillis) {
  private static final String LIBNVML = "libnvidia-ml.so.1";

  /** Libraries on the usual path, GPUs by turns. */
  public static final DriverOptions DEFAULT =
      new DriverOptions(
          Optional.empty(), Optional.empty(), OptionalLong.empty(), Sharing.timeslice);

  /** A driver that is named has its management library beside it, unless that is named, too. */
  public DriverOptions {
    libnvml =
        libnvml.or(() -> libcuda.map(path -> path.resolveSibling(LIBNVML)).filter(Files::exists));
    int ignored = InFlightBound.check(inFlightBoundMillis);
  }

  /** The usual bound. */
  public DriverOptions(
      Optional<Path> libcuda, Optional<Path> libnvml, OptionalLong contextBytes, Sharing sharing) {
    this(libcuda, libnvml, contextBytes, sharing, InFlightBound.USUAL_MILLIS);
  }

  /** How the programs of several leases run on one GPU. */
  public enum Sharing {
    /** One after the other, each for its share of the time. */
    timeslice,
    /**
     * At the same time, through NVIDIA's Multi-Process Service, each on its part of the
     * multiprocessors; programs of one lease one after the other.
     */
    mps,
    /** As the driver does by itself: equally, whatever their shares are. */
    driver
  }

  /** What tells a worker process where the libraries are. */
  public List<String> arguments() {
    List<String> arguments = new ArrayList<>();
    libcuda.ifPresent(path -> arguments.addAll(List.of("--libcuda", path.toString())));
    libnvml.ifPresent(path -> arguments.addAll(List.of("--libnvml", path.toString())));
    contextBytes.ifPresent(bytes -> arguments.addAll(contextArguments(bytes)));
    if (sharing == Sharing.driver) {
      arguments.add("--no-time-slices");
    } else if (inFlightBoundMillis != InFlightBound.USUAL_MILLIS) {
      arguments.addAll(List.of("--in-flight-bound", Integer.toString(inFlightBoundMillis)));
    }
    return arguments;
  }

  /** What tells a worker process how much memory a context takes. */
  public static List<String> contextArguments(long bytes) {
    return List.of("--context-memory", Long.toString(bytes));
  }

  /** The libraries that are named. */
  public List<Path> libraries() {
    return Stream.concat(libcuda.stream(), libnvml.stream()).toList();
  }
}
