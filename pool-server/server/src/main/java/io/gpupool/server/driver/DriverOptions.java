// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.driver;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * NVIDIA's driver as a server uses it.
 *
 * @param libcuda the driver's library, where it is not on the usual path
 * @param libnvml its management library, likewise
 * @param sharing how the programs of several leases run on one GPU
 */
public record DriverOptions(Optional<Path> libcuda, Optional<Path> libnvml, Sharing sharing) {
  /** Libraries on the usual path, GPUs by turns. */
  public static final DriverOptions USUAL =
      new DriverOptions(Optional.empty(), Optional.empty(), Sharing.timeslice);

  /** How the programs of several leases run on one GPU. */
  public enum Sharing {
    /** One after the other, each for its share of the time. */
    timeslice,
    /** At the same time, through NVIDIA's Multi-Process Service. */
    mps,
    /** As the driver does by itself: equally, whatever their shares are. */
    driver
  }

  /** What tells a worker process where the libraries are. */
  public List<String> arguments() {
    List<String> arguments = new ArrayList<>();
    libcuda.ifPresent(path -> arguments.addAll(List.of("--libcuda", path.toString())));
    libnvml.ifPresent(path -> arguments.addAll(List.of("--libnvml", path.toString())));
    if (sharing != Sharing.timeslice) {
      arguments.add("--no-turns");
    }
    return arguments;
  }

  /** The libraries that are named. */
  public List<Path> libraries() {
    return Stream.concat(libcuda.stream(), libnvml.stream()).toList();
  }
}
