// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * Images that programs of the tenant sent in earlier sessions, by their digest. What comes from the
 * store counts only if it has that digest. Used by the session's thread alone.
 */
public record ImageCache(ImageStore store) {
  /** Copies an image of this length to memory; false if there is none that is whole. */
  boolean read(byte[] digest, long address, long lengthBytes) {
    return store.read(digest, address, lengthBytes)
        && MessageDigest.isEqual(digest, digest(address, lengthBytes));
  }

  /** Keeps an image if that is possible and it is what its digest says; false if it is not. */
  boolean keep(byte[] digest, long address, long lengthBytes) {
    boolean sound =
        store != ImageStore.NONE && MessageDigest.isEqual(digest, digest(address, lengthBytes));
    if (sound) {
      store.write(digest, address, lengthBytes);
    }
    return sound;
  }

  private static byte[] digest(long address, long lengthBytes) {
    try {
      MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
      sha256.update(buffer(address, lengthBytes));
      return sha256.digest();
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  private static ByteBuffer buffer(long address, long lengthBytes) {
    return MemorySegment.ofAddress(address).reinterpret(lengthBytes).asByteBuffer();
  }
}
