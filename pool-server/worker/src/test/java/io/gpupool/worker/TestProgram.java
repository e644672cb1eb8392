// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The programs by which a server starts its workers, each built from its source. */
final class TestProgram {
  private static final Map<String, Path> BUILT = new ConcurrentHashMap<>();

  private TestProgram() {}

  /** Returns the launcher that confines a worker; skips the test where there is no gcc. */
  static String sandbox() {
    return built("src/main/c/gpupool-sandbox.c");
  }

  /** Returns the launcher that ties a worker to its parent; as above. */
  static String exec() {
    return built("../../client-agent/shim/src/main/exec/gpupool-exec.c");
  }

  private static String built(String source) {
    return BUILT.computeIfAbsent(source, TestProgram::build).toString();
  }

  private static Path build(String source) {
    String name = Path.of(source).getFileName().toString().replace(".c", "");
    Path out = Path.of("target", "programs", name).toAbsolutePath();
    try {
      Files.createDirectories(out.getParent());
      List<String> command =
          List.of("gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-o", out.toString(), source);
      Process gcc = new ProcessBuilder(command).redirectErrorStream(true).start();
      String output = new String(gcc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (gcc.waitFor() != 0) {
        throw new IllegalStateException(source + " does not compile:\n" + output);
      }
    } catch (IOException e) {
      return abort("gcc is needed to build " + name + ": " + e.getMessage());
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted", e);
    }
    return out;
  }
}
