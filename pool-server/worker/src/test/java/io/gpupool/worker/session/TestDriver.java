// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.LibCuda;
import io.gpupool.cuda.NvidiaBackend;
import io.gpupool.worker.TestLibrary;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The real-driver backend on the test driver, which is built from {@code src/test/c}. */
public final class TestDriver {
  private static @Nullable Backend backend;

  private TestDriver() {}

  /** The backend; skips the test where there is no gcc. */
  public static synchronized Backend backend() {
    if (backend == null) {
      try {
        LibCuda.open(library().toString());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      backend = new NvidiaBackend();
    }
    return backend;
  }

  /** Where the library is; skips the test where there is no gcc. */
  public static Path library() {
    return TestLibrary.built("testcuda", "libcuda.so.1");
  }
}
