// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** The name of a communicator among the sessions of a tenant: a digest, in hexadecimal. */
final class CommunicatorId {
  private CommunicatorId() {}

  /** The name of the communicator of a unique id. */
  static String of(byte[] uniqueId) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(uniqueId));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  /** The name of one that was split off, the same in all its ranks. */
  static String ofSplit(String parent, int number, int color) {
    return of((parent + "/" + number + "/" + color).getBytes(StandardCharsets.US_ASCII));
  }
}
