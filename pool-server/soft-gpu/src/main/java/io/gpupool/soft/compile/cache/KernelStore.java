// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.cache;

import java.util.Optional;

/**
 * A place outside this process where bytes are kept under keys. What it returns may be damaged or
 * of an earlier version. Any thread may call it.
 */
public interface KernelStore {
  /** A store in which nothing stays. */
  KernelStore NONE =
      new KernelStore() {
        @Override
        public Optional<byte[]> read(byte[] key) {
          return Optional.empty();
        }

        @Override
        public void write(byte[] key, byte[] content) {
          // It is compiled again.
        }
      };

  /** The bytes kept under a key; empty if there are none or they cannot be read. */
  Optional<byte[]> read(byte[] key);

  /** Keeps bytes under a key if that is possible. */
  void write(byte[] key, byte[] content);
}
