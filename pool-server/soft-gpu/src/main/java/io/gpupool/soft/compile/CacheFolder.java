// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.cache.FileCache;
import io.gpupool.soft.ptx.PtxModule;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Optional;

/** Compiled kernels in files that several processes share. Any thread may call it. */
final class CacheFolder {
  /* A file holds a SHA-256 digest of the rest, its key again, and the kernel. */
  static final String SUFFIX = ".kernel";

  private static final int DIGEST_BYTES = 32;
  private static final long MAX_ENTRY_BYTES = 64L << 20;

  private final FileCache files;

  CacheFolder(FileCache files) {
    this.files = files;
  }

  /** An entry that is there and whole. */
  Optional<KernelBinary> read(byte[] key) {
    Optional<Path> file = files.find(key);
    try {
      if (file.isEmpty() || Files.size(file.get()) > MAX_ENTRY_BYTES) {
        return Optional.empty();
      }
      Optional<KernelBinary> found = decode(key, Files.readAllBytes(file.get()));
      if (found.isPresent()) {
        FileCache.noteUse(file.get());
      }
      return found;
    } catch (IOException | RuntimeException e) {
      return Optional.empty();
    }
  }

  /** Reads an entry that is in memory alone, and one that is not there. */
  void rehearse(byte[] key, KernelBinary kernel) {
    try {
      decode(key, encode(key, kernel)).ifPresent(KernelBinary::load);
    } catch (IOException e) {
      // Whoever comes next waits a little longer.
    }
    read(key);
  }

  /** Keeps an entry if that is possible. */
  void write(byte[] key, KernelBinary kernel) {
    try {
      byte[] content = encode(key, kernel);
      if (content.length <= MAX_ENTRY_BYTES) {
        files.put(key, ByteBuffer.wrap(content));
      }
    } catch (IOException e) {
      // It is compiled again.
    }
  }

  private static Optional<KernelBinary> decode(byte[] key, byte[] content) throws IOException {
    if (content.length < 2 * DIGEST_BYTES) {
      return Optional.empty();
    }
    MessageDigest digest = PtxModule.sha256();
    digest.update(content, DIGEST_BYTES, content.length - DIGEST_BYTES);
    if (!MessageDigest.isEqual(digest.digest(), Arrays.copyOf(content, DIGEST_BYTES))
        || !Arrays.equals(content, DIGEST_BYTES, 2 * DIGEST_BYTES, key, 0, DIGEST_BYTES)) {
      return Optional.empty();
    }
    int start = 2 * DIGEST_BYTES;
    return Optional.of(
        KernelBinary.read(
            new DataInputStream(new ByteArrayInputStream(content, start, content.length - start))));
  }

  private static byte[] encode(byte[] key, KernelBinary kernel) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write(new byte[DIGEST_BYTES]);
    bytes.write(key);
    kernel.write(new DataOutputStream(bytes));
    byte[] content = bytes.toByteArray();
    MessageDigest digest = PtxModule.sha256();
    digest.update(content, DIGEST_BYTES, content.length - DIGEST_BYTES);
    System.arraycopy(digest.digest(), 0, content, 0, DIGEST_BYTES);
    return content;
  }
}
