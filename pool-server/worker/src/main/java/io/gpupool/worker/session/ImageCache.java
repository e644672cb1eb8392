// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.soft.cache.FileCache;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Map;
import java.util.Optional;

/**
 * Images that programs sent in earlier sessions, by their digest, in files that all workers of a
 * server share. Whoever knows an image's digest has had the image: nothing is given away by finding
 * it. Used by the session's thread alone.
 *
 * @param files where they are; empty: nothing is kept
 */
record ImageCache(Optional<FileCache> files) {
  /** Names the folder, or is {@code off}. */
  static final String VARIABLE = "GPUPOOL_IMAGE_CACHE";

  static final ImageCache NONE = new ImageCache(Optional.empty());

  private static final long MAX_BYTES = 4L << 30;
  private static final String SUFFIX = ".image";

  static ImageCache of(Map<String, String> environment) {
    return new ImageCache(FileCache.of(environment, VARIABLE, "images", MAX_BYTES, SUFFIX));
  }

  /** Copies an image of this length to memory; false if there is none that is whole. */
  boolean read(byte[] digest, long address, long lengthBytes) {
    Optional<Path> found = files.flatMap(cache -> cache.find(digest));
    if (found.isEmpty()) {
      return false;
    }
    try (FileChannel channel = FileChannel.open(found.get())) {
      ByteBuffer content = buffer(address, lengthBytes);
      if (channel.size() != lengthBytes) {
        return false;
      }
      while (content.hasRemaining()) {
        if (channel.read(content) < 0) {
          return false;
        }
      }
      if (!MessageDigest.isEqual(digest, digest(address, lengthBytes))) {
        Files.deleteIfExists(found.get());
        return false;
      }
      FileCache.noteUse(found.get());
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /** Keeps an image if that is possible and it is what its digest says. */
  void keep(byte[] digest, long address, long lengthBytes) {
    if (files.isPresent() && MessageDigest.isEqual(digest, digest(address, lengthBytes))) {
      files.get().put(digest, buffer(address, lengthBytes));
    }
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
