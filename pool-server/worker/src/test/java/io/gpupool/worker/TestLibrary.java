// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Stand-ins for libraries of the driver, built from {@code src/test/c}. */
public final class TestLibrary {
  private static final Map<String, Path> BUILT = new ConcurrentHashMap<>();

  private TestLibrary() {}

  /** The library made of NAME.c, built once a run; skips the test where there is no gcc. */
  public static Path built(String name, String library) {
    return BUILT.computeIfAbsent(name, ignored -> build(name, library));
  }

  private static Path build(String name, String library) {
    Path out = Path.of("target", name, library).toAbsolutePath();
    try {
      Files.createDirectories(out.getParent());
      Process gcc =
          new ProcessBuilder(
                  "gcc",
                  "-std=gnu11",
                  "-O2",
                  "-Wall",
                  "-Wextra",
                  "-Werror",
                  "-Wno-int-to-pointer-cast",
                  "-shared",
                  "-fPIC",
                  "-Wl,-soname," + library,
                  "-o",
                  out.toString(),
                  "src/test/c/" + name + ".c",
                  "-lpthread")
              .redirectErrorStream(true)
              .start();
      String output = new String(gcc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (gcc.waitFor() != 0) {
        throw new IllegalStateException(name + " does not compile:\n" + output);
      }
    } catch (IOException e) {
      return abort("gcc is needed to build " + name + ": " + e.getMessage());
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted", e);
    }
    return out;
  }
}
