// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * What a program's processes have written at their ends because of {@code GPUPOOL_TRACE}, summed
 * up.
 *
 * @param file where it stands
 * @param processes that have made calls
 * @param calls of all entry points
 * @param roundTrips that they made
 * @param refused calls that were answered CUDA_ERROR_NOT_SUPPORTED
 */
record CallTrace(Path file, int processes, long calls, long roundTrips, long refused) {
  private static final Path FOLDER = Distribution.WORK.resolve("trace");

  /** The place of a report, with nothing there yet. */
  static Path place(String name) {
    try {
      Files.createDirectories(FOLDER);
      Path file = FOLDER.resolve(name + ".txt");
      Files.deleteIfExists(file);
      return file;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Reads the reports that are there. */
  static CallTrace read(Path file) {
    try {
      List<String[]> totals =
          Files.readAllLines(file).stream()
              .filter(line -> line.startsWith("all "))
              .map(line -> line.split(" +"))
              .toList();
      assertThat(totals).as("processes that have written to " + file).isNotEmpty();
      return new CallTrace(file, totals.size(), sum(totals, 2), sum(totals, 3), sum(totals, 5));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long sum(List<String[]> totals, int column) {
    return totals.stream().mapToLong(columns -> Long.parseLong(columns[column])).sum();
  }
}
