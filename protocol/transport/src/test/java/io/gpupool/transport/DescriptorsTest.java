// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Copies of another process's descriptors, where that process is hostile. */
@Timeout(60)
class DescriptorsTest {
  private static final int ATTEMPTS = 5_000;
  private static final MethodHandle DUP2 =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().findOrThrow("dup2"),
              FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));

  private final int self = (int) ProcessHandle.current().pid();

  @Test
  void ofProcess_fileInMemory_isTheSameFile() throws IOException {
    int memory = Descriptors.memoryFile("test", 4096);
    int copy = Descriptors.ofProcess(self, memory);
    assertThat(copy).isNotEqualTo(memory);
    assertThat(Files.isSameFile(link(copy), link(memory))).isTrue();
    Descriptors.close(copy);
    Descriptors.close(memory);
  }

  @Test
  void ofProcess_noSuchDescriptor_fails() {
    assertThatThrownBy(() -> Descriptors.ofProcess(self, 1 << 20)).isInstanceOf(IOException.class);
  }

  @Test
  void ofProcess_fileSwappedMeanwhile_isNeverOpenedForWriting(@TempDir Path folder)
      throws Exception {
    Path precious = Files.writeString(folder.resolve("precious"), "kept");
    int memory = Descriptors.memoryFile("bait", 4096);
    int readOnly = Descriptors.openForReading(precious);
    int target = Descriptors.duplicate(memory);
    AtomicBoolean over = new AtomicBoolean();
    Thread swapper =
        Thread.ofPlatform()
            .start(() -> {
              while (!over.get()) {
                swap(readOnly, target);
                swap(memory, target);
              }
            });
    try {
      for (int i = 0; i < ATTEMPTS; i++) {
        try {
          int copy = Descriptors.ofProcess(self, target);
          assertThat(Descriptors.isMemoryFile(copy)).isTrue();
          Descriptors.close(copy);
        } catch (IOException e) {
          assertThat(e).hasMessageContaining("of no file in memory");
        }
      }
    } finally {
      over.set(true);
      swapper.join();
      for (int descriptor : new int[] {memory, readOnly, target}) {
        Descriptors.close(descriptor);
      }
    }
  }

  private static void swap(int from, int to) {
    try {
      int ignored = (int) DUP2.invokeExact(from, to);
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static Path link(int descriptor) {
    return Path.of("/proc/self/fd/" + descriptor);
  }
}
