// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** Files of a test as the pool-server hands its own to a worker. */
public final class TestFiles {
  /** O_RDWR and O_CLOEXEC. */
  private static final int FLAGS = 02000002;

  private TestFiles() {}

  /** Opens a file for reading and writing. */
  public static ServerFile open(Path file) throws IOException {
    Linker linker = Linker.nativeLinker();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment path = arena.allocateFrom(file.toString());
      int descriptor =
          (int)
              linker
                  .downcallHandle(
                      linker.defaultLookup().findOrThrow("open"),
                      FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT))
                  .invokeExact(path, FLAGS);
      if (descriptor < 0) {
        throw new IOException("cannot open " + file);
      }
      return new ServerFile(descriptor);
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }
}
