// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.LibCuda;
import io.gpupool.cuda.NvidiaBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The real-driver backend on the test driver, which is built from {@code src/test/c}. */
public final class TestDriver {
  private static final Path SOURCE = Path.of("src/test/c/testcuda.c");
  private static final Path LIBRARY = Path.of("target/testcuda/libcuda.so.1");
  private static Backend backend;
  private static String missing;

  private TestDriver() {}

  /** The backend; skips the test where there is no gcc. */
  static synchronized Backend backend() {
    if (backend == null && missing == null) {
      try {
        build();
        LibCuda.open(LIBRARY.toAbsolutePath().toString());
        backend = new NvidiaBackend();
      } catch (IOException e) {
        missing = "gcc is needed to build the test driver: " + e.getMessage();
      }
    }
    assumeTrue(backend != null, missing);
    return backend;
  }

  /** Where the library is; skips the test where there is no gcc. */
  public static Path library() {
    backend();
    return LIBRARY.toAbsolutePath();
  }

  private static void build() throws IOException {
    Files.createDirectories(LIBRARY.getParent());
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
                "-Wl,-soname,libcuda.so.1",
                "-o",
                LIBRARY.toString(),
                SOURCE.toString(),
                "-lpthread")
            .redirectErrorStream(true)
            .start();
    String output = new String(gcc.getInputStream().readAllBytes());
    try {
      if (gcc.waitFor() != 0) {
        throw new IllegalStateException("the test driver does not compile:\n" + output);
      }
    } catch (InterruptedException e) {
      throw new IOException("interrupted", e);
    }
  }
}
