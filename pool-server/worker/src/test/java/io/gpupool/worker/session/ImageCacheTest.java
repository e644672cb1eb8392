// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ImageCacheTest {
  private static final byte[] IMAGE = new byte[100_000];

  static {
    new Random(5).nextBytes(IMAGE);
  }

  @TempDir private Path folder;
  private final Arena arena = Arena.ofAuto();

  @Test
  void image_keptByOneWorker_isFoundByAnother() throws Exception {
    byte[] digest = sha256(IMAGE);
    cache().keep(digest, addressOf(IMAGE), IMAGE.length);
    MemorySegment room = arena.allocate(IMAGE.length);

    assertThat(cache().read(digest, room.address(), IMAGE.length)).isTrue();
    assertThat(room.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(IMAGE);
  }

  @Test
  void image_ofAnotherDigestThanWasSaid_isNotKept() throws Exception {
    byte[] digest = sha256("another".getBytes());
    cache().keep(digest, addressOf(IMAGE), IMAGE.length);

    assertThat(isFound(digest, IMAGE.length)).isFalse();
    assertThat(isFound(sha256(IMAGE), IMAGE.length)).isFalse();
  }

  @Test
  void image_damagedOnDisk_isNotFoundAndGoes() throws Exception {
    byte[] digest = sha256(IMAGE);
    cache().keep(digest, addressOf(IMAGE), IMAGE.length);
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder.resolve("images"))) {
      Path file = files.iterator().next();
      byte[] content = Files.readAllBytes(file);
      content[5000] ^= 1;
      Files.write(file, content);

      assertThat(isFound(digest, IMAGE.length)).isFalse();
      assertThat(file).doesNotExist();
    }
  }

  @Test
  void image_ofAnotherLength_isNotFound() throws Exception {
    byte[] digest = sha256(IMAGE);
    cache().keep(digest, addressOf(IMAGE), IMAGE.length);

    assertThat(isFound(digest, IMAGE.length - 1)).isFalse();
    assertThat(isFound(digest, IMAGE.length + 1)).isFalse();
  }

  @Test
  void cache_switchedOff_keepsNothing() throws Exception {
    ImageCache off = ImageCache.of(Map.of(ImageCache.VARIABLE, "off"));
    off.keep(sha256(IMAGE), addressOf(IMAGE), IMAGE.length);

    assertThat(off.read(sha256(IMAGE), addressOf(IMAGE), IMAGE.length)).isFalse();
  }

  private ImageCache cache() {
    return ImageCache.of(Map.of(ImageCache.VARIABLE, folder.resolve("images").toString()));
  }

  private boolean isFound(byte[] digest, int lengthBytes) {
    return cache().read(digest, arena.allocate(lengthBytes).address(), lengthBytes);
  }

  private long addressOf(byte[] bytes) {
    return arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes).address();
  }

  private static byte[] sha256(byte[] bytes) throws Exception {
    return MessageDigest.getInstance("SHA-256").digest(bytes);
  }
}
