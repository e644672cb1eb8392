// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

/**
 * A place outside this process where images are kept by their digests. What it returns may be
 * something else. Used by the session's thread.
 */
public interface ImageStore {
  /** A store in which nothing stays. */
  ImageStore NONE =
      new ImageStore() {
        @Override
        public boolean read(byte[] digest, long address, long lengthBytes) {
          return false;
        }

        @Override
        public void write(byte[] digest, long address, long lengthBytes) {
          // The next program sends it again.
        }
      };

  /** Copies what is kept under a digest to memory; false if there is nothing of this length. */
  boolean read(byte[] digest, long address, long lengthBytes);

  /** Keeps bytes under their digest if that is possible. */
  void write(byte[] digest, long address, long lengthBytes);
}
