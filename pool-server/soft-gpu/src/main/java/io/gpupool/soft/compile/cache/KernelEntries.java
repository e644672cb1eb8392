// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.cache;

import io.gpupool.soft.compile.KernelBinary;
import io.gpupool.soft.ptx.module.PtxModule;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Optional;

/** The compiled kernels of a {@link KernelStore}. Any thread may call it. */
final class KernelEntries {
  /* An entry holds a SHA-256 digest of the rest, its key again, and the kernel. */

  private static final int DIGEST_BYTES = 32;
  private static final int MAX_ENTRY_BYTES = 64 << 20;

  private final KernelStore store;

  KernelEntries(KernelStore store) {
    this.store = store;
  }

  /** An entry that is there and whole. */
  Optional<KernelBinary> read(byte[] key) {
    Optional<byte[]> content = store.read(key);
    try {
      return content.isEmpty() || content.get().length > MAX_ENTRY_BYTES
          ? Optional.empty()
          : decode(key, content.get());
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
        store.write(key, content);
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
