// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.driver;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Looks for the NVIDIA driver library where the dynamic linker would, without loading it. Where it
 * cannot be, no process has to be started to find that out.
 */
public final class DriverSearch {
  private static final String LIBRARY = "libcuda.so.1";
  private static final List<String> LINKER_FOLDERS =
      List.of("/lib", "/usr/lib", "/lib64", "/usr/lib64");
  private static final Path LINKER_CACHE = Path.of("/etc/ld.so.cache");

  private DriverSearch() {}

  /** Whether the library may be found; only loading it tells whether it works. */
  public static boolean mayFind(Optional<Path> named, Optional<String> libraryPath) {
    if (named.isPresent()) {
      return true;
    }
    Stream<String> folders =
        Stream.concat(
            libraryPath.stream().flatMap(path -> Stream.of(path.split(":"))),
            LINKER_FOLDERS.stream());
    return folders.anyMatch(folder -> Files.exists(Path.of(folder, LIBRARY))) || isCached();
  }

  private static boolean isCached() {
    try {
      // The cache holds the names of all libraries it knows, among binary numbers.
      return new String(Files.readAllBytes(LINKER_CACHE), StandardCharsets.ISO_8859_1)
          .contains(LIBRARY + "\0");
    } catch (IOException e) {
      // No cache, or not a glibc system: only trying can tell.
      return true;
    }
  }
}
