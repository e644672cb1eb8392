// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ImageCacheTest {
  private static final byte[] IMAGE = new byte[100_000];

  static {
    new Random(5).nextBytes(IMAGE);
  }

  private final Map<String, byte[]> kept = new HashMap<>();
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
    byte[] digest = sha256("another".getBytes(StandardCharsets.UTF_8));
    cache().keep(digest, addressOf(IMAGE), IMAGE.length);

    assertThat(isFound(digest, IMAGE.length)).isFalse();
    assertThat(isFound(sha256(IMAGE), IMAGE.length)).isFalse();
  }

  @Test
  void image_thatTheStoreHasChanged_isNotFound() throws Exception {
    byte[] digest = sha256(IMAGE);
    cache().keep(digest, addressOf(IMAGE), IMAGE.length);
    kept.values().iterator().next()[5000] ^= 1;

    assertThat(isFound(digest, IMAGE.length)).isFalse();
  }

  private ImageCache cache() {
    return new ImageCache(new Store());
  }

  /** As the pool-server keeps them. */
  private final class Store implements ImageStore {
    @Override
    public boolean read(byte[] digest, long address, long lengthBytes) {
      byte[] found = kept.get(HexFormat.of().formatHex(digest));
      if (found == null || found.length != lengthBytes) {
        return false;
      }
      Memory.put(address, found, found.length);
      return true;
    }

    @Override
    public void write(byte[] digest, long address, long lengthBytes) {
      kept.put(HexFormat.of().formatHex(digest), Memory.bytes(address, (int) lengthBytes));
    }
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
