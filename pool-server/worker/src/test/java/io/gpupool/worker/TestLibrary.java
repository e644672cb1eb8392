// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** Stand-ins for libraries of the driver, each built from a folder of {@code src/test/c}. */
public final class TestLibrary {
  private static final Map<String, Path> BUILT = new ConcurrentHashMap<>();

  private TestLibrary() {}

  /** Returns the library, built once a run; skips the test where there is no gcc. */
  public static Path built(String name, String library) {
    return BUILT.computeIfAbsent(name, ignored -> build(name, library));
  }

  private static Path build(String name, String library) {
    Path out = Path.of("target", name, library).toAbsolutePath();
    try {
      Files.createDirectories(out.getParent());
      List<String> command = new ArrayList<>();
      command.addAll(List.of("gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wconversion"));
      command.addAll(List.of("-Werror", "-Wno-int-to-pointer-cast", "-shared", "-fPIC"));
      command.addAll(List.of("-Wl,-soname," + library, "-o", out.toString()));
      try (Stream<Path> files = Files.list(Path.of("src/test/c", name))) {
        files.map(Path::toString).filter(f -> f.endsWith(".c")).sorted().forEach(command::add);
      }
      command.add("-lpthread");
      Process gcc = new ProcessBuilder(command).redirectErrorStream(true).start();
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
