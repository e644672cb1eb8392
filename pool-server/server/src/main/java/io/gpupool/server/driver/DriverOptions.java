// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.driver;

import io.gpupool.wire.InFlightBound;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The options for NVIDIA's driver.
 *
 * @param libcuda the driver's library, if it is not on the usual path
 * @param libnvml its management library, likewise
 * @param libnccl NVIDIA's NCCL: a path, {@code off} for none; null: the newest that is found
 * @param contextBytes GPU memory that each context takes by itself; null: it is measured
 * @param sharing how the programs of several leases run on one GPU
 * @param inFlightBoundMillis how long the work in progress may take while another lease, or
 *     program, waits for its time slice; longer for a single operation that takes longer
 * @param movable whether sessions may move to other GPUs: their memory is at addresses that they
 *     can have there, too
 */
public record DriverOptions(
    @Nullable Path libcuda,
    @Nullable Path libnvml,
    @Nullable String libnccl,
    @Nullable Long contextBytes,
    Sharing sharing,
    int inFlightBoundMillis,
    boolean movable) {
  private static final String LIBNVML = "libnvidia-ml.so.1";

  /** Libraries on the usual path, GPUs by turns. */
  public static final DriverOptions DEFAULT =
      new DriverOptions(null, null, null, Sharing.timeslice);

  /** A driver that is named has its management library beside it, unless that is named, too. */
  public DriverOptions {
    libnvml =
        libnvml == null && libcuda != null && Files.exists(libcuda.resolveSibling(LIBNVML))
            ? libcuda.resolveSibling(LIBNVML)
            : libnvml;
    int ignored = InFlightBound.check(inFlightBoundMillis);
  }

  /** The usual bound, and sessions that stay where they are. */
  public DriverOptions(
      @Nullable Path libcuda,
      @Nullable Path libnvml,
      @Nullable Long contextBytes,
      Sharing sharing) {
    this(libcuda, libnvml, null, contextBytes, sharing, InFlightBound.USUAL_MILLIS, false);
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
    if (libcuda != null) {
      arguments.addAll(List.of("--libcuda", libcuda.toString()));
    }
    if (libnvml != null) {
      arguments.addAll(List.of("--libnvml", libnvml.toString()));
    }
    if (libnccl != null) {
      arguments.addAll(List.of("--libnccl", libnccl));
    }
    if (contextBytes != null) {
      arguments.addAll(contextArguments(contextBytes));
    }
    if (sharing == Sharing.driver) {
      arguments.add("--no-time-slices");
    } else if (inFlightBoundMillis != InFlightBound.USUAL_MILLIS) {
      arguments.addAll(List.of("--in-flight-bound", Integer.toString(inFlightBoundMillis)));
    }
    if (movable) {
      arguments.add("--movable");
    }
    return arguments;
  }

  /** What tells a worker process how much memory a context takes. */
  public static List<String> contextArguments(long bytes) {
    return List.of("--context-memory", Long.toString(bytes));
  }

  /** Returns whether the operator wants NCCL to be left to programs. */
  public boolean isNcclOff() {
    return "off".equals(libnccl);
  }

  /** Returns the libraries that are named. */
  public List<Path> libraries() {
    Path nccl = libnccl == null || isNcclOff() ? null : Path.of(libnccl);
    // Programs hear of an NCCL that is not there; the server serves without it.
    return Stream.of(libcuda, libnvml, nccl != null && Files.exists(nccl) ? nccl : null)
        .filter(Objects::nonNull)
        .toList();
  }
}
