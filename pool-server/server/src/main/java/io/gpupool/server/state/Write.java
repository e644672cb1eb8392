// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import com.google.protobuf.ByteString;

/** A write of one key by a commit. */
public sealed interface Write {
  String key();

  /**
   * Sets a value.
   *
   * @param bound whether the key goes when the server that wrote it dies
   */
  record Put(String key, ByteString value, boolean bound) implements Write {}

  record Delete(String key) implements Write {}
}
