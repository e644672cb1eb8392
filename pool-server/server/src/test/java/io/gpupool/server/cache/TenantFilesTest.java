// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.transport.Descriptors;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TenantFilesTest {
  private static final byte[] KEY = new byte[32];

  @TempDir private Path folder;

  private TenantFiles files() {
    return new TenantFiles(folder.resolve("kernels"), 1 << 20, ".kernel");
  }

  private static int memoryFile(String content) throws IOException {
    int descriptor = Descriptors.memoryFile("test", content.length());
    try (FileChannel channel =
        FileChannel.open(Path.of("/proc/self/fd/" + descriptor), StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.wrap(content.getBytes(StandardCharsets.UTF_8)));
    }
    return descriptor;
  }

  private static String read(OptionalInt descriptor) throws IOException {
    Path path = Path.of("/proc/self/fd/" + descriptor.orElseThrow());
    try (FileChannel channel = FileChannel.open(path)) {
      ByteBuffer bytes = ByteBuffer.allocate((int) channel.size());
      channel.read(bytes);
      return new String(bytes.array(), StandardCharsets.UTF_8);
    } finally {
      Descriptors.close(descriptor.getAsInt());
    }
  }

  @Test
  void file_ofOneTenant_isNoOtherTenants() throws IOException {
    files().keep("alpha", KEY, memoryFile("of alpha"));

    assertThat(read(files().open("alpha", KEY))).isEqualTo("of alpha");
    assertThat(files().open("beta", KEY)).isEmpty();
    assertThat(files().open("", KEY)).isEmpty();
  }

  @Test
  void file_ofTheSameKeyByAnotherTenant_changesNothing() throws IOException {
    files().keep("alpha", KEY, memoryFile("of alpha"));
    files().keep("../alpha", KEY, memoryFile("planted"));

    assertThat(read(files().open("alpha", KEY))).isEqualTo("of alpha");
  }

  @Test
  void descriptor_ofNoFileInMemory_isNotRead() throws IOException {
    int device = Descriptors.openForReading(Path.of("/dev/zero"));
    files().keep("alpha", KEY, device);

    assertThat(files().open("alpha", KEY)).isEmpty();
    assertThat(Path.of("/proc/self/fd/" + device)).doesNotExist();
  }
}
