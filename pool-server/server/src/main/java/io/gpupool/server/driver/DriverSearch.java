// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.driver;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A search for the NVIDIA driver library that does not load it. It looks where the dynamic linker
 * does, and where containers and Windows have the library. If it finds nothing, no process has to
 * be started to try.
 */
public final class DriverSearch {
  private static final String LIBRARY = "libcuda.so.1";

  /** Of Debian and what comes from it: built into the linker there. */
  private static final String ARCHITECTURE =
      System.getProperty("os.arch").equals("aarch64") ? "aarch64-linux-gnu" : "x86_64-linux-gnu";

  private static final List<String> LINKER_FOLDERS =
      List.of(
          "lib", "usr/lib", "lib64", "usr/lib64", "lib/" + ARCHITECTURE, "usr/lib/" + ARCHITECTURE);

  /** Google's device plugin, NVIDIA's GPU operator, and Windows' Linux, in this order. */
  private static final List<String> OTHER_FOLDERS =
      List.of(
          "usr/local/nvidia/lib64",
          "usr/local/nvidia/lib",
          "run/nvidia/driver/usr/lib64",
          "run/nvidia/driver/usr/lib/" + ARCHITECTURE,
          "usr/lib/wsl/lib");

  private final Path root;

  /**
   * Makes a search of a file system.
   *
   * @param root {@code /}, except in tests
   */
  public DriverSearch(Path root) {
    this.root = root;
  }

  /**
   * Whether the library may be found; only loading it tells whether it works.
   *
   * @param named where it is, if that was said
   * @param libraryPath the value of {@code LD_LIBRARY_PATH}
   */
  public boolean mayFind(@Nullable Path named, @Nullable String libraryPath) {
    return named != null || linkerFinds(libraryPath) || otherFolder().isPresent();
  }

  /**
   * Returns the value of {@code LD_LIBRARY_PATH} with which the linker finds the library, and the
   * others that it loads; the same as before where that changes nothing.
   */
  public Optional<String> libraryPath(@Nullable String before) {
    if (linkerFinds(before)) {
      return Optional.ofNullable(before);
    }
    return otherFolder()
        .map(folder ->
            before == null || before.isEmpty() ? folder.toString() : before + ":" + folder)
        .or(() -> Optional.ofNullable(before));
  }

  private boolean linkerFinds(@Nullable String libraryPath) {
    return Optional.ofNullable(libraryPath).stream()
            .flatMap(path -> Stream.of(path.split(":")))
            .anyMatch(folder -> Files.exists(Path.of(folder, LIBRARY)))
        || LINKER_FOLDERS.stream().anyMatch(folder -> isIn(root.resolve(folder)))
        || isCached();
  }

  private Optional<Path> otherFolder() {
    return OTHER_FOLDERS.stream().map(root::resolve).filter(DriverSearch::isIn).findFirst();
  }

  private static boolean isIn(Path folder) {
    return Files.exists(folder.resolve(LIBRARY));
  }

  private boolean isCached() {
    try {
      // The cache holds the names of all libraries it knows, among binary numbers.
      return new String(
              Files.readAllBytes(root.resolve("etc/ld.so.cache")), StandardCharsets.ISO_8859_1)
          .contains(LIBRARY + "\0");
    } catch (IOException e) {
      // No cache, or not a glibc system: only trying can tell.
      return true;
    }
  }
}
