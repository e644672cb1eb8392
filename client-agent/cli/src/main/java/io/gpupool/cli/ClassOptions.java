// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options that say what a lease's programs do with a GPU's time. */
public final class ClassOptions {
  /** The classes there are. */
  public enum LeaseClass {
    batch,
    latency
  }

  @Option(
      names = "--class",
      paramLabel = "batch|latency",
      description = {
        "what the programs do: those of class latency serve requests, and their time slices of a"
            + " GPU",
        "come as soon as they can while they use less than their share (else GPUPOOL_CLASS;"
            + " default:",
        "batch)"
      })
  private @Nullable LeaseClass named;

  @Option(names = "--latency", description = "short for --class latency")
  private boolean latency;

  /**
   * Returns the class's name, if it was given.
   *
   * @throws IllegalArgumentException if two are
   */
  public Optional<String> name() {
    return name(named, latency);
  }

  /**
   * Returns the class that two options name together, if one of them was given.
   *
   * @param named by {@code --class}; null: it was not given
   * @param latency whether {@code --latency} was given
   * @throws IllegalArgumentException if they name two
   */
  public static Optional<String> name(@Nullable LeaseClass named, boolean latency) {
    if (latency && named == LeaseClass.batch) {
      throw new IllegalArgumentException(
          "--latency is short for --class latency, and --class batch was given, too; give one");
    }
    return Optional.ofNullable(latency ? LeaseClass.latency : named).map(LeaseClass::name);
  }
}
