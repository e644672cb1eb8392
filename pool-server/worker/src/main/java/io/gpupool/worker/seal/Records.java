// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.seal;

/**
 * The layout of records, which is that of TLS 1.3 (RFC 8446, 5.2).
 *
 * <pre>
 *   u8 23 | u8 3 | u8 3 | u16 bytes that follow, big-endian | content, u8 23, encrypted | tag
 * </pre>
 */
final class Records {
  static final int HEADER_BYTES = 5;
  static final int MAX_CONTENT_BYTES = 1 << 14;
  static final int TYPE_BYTES = 1;
  static final byte TYPE_DATA = 23;

  /** What a record adds to its content. */
  static final int ADDED_BYTES = HEADER_BYTES + TYPE_BYTES + RecordKeys.TAG_BYTES;

  static final int MAX_BYTES = MAX_CONTENT_BYTES + ADDED_BYTES;
  private static final byte VERSION = 3;

  private Records() {}

  /** Writes the header of a record with so much content. */
  static void writeHeader(byte[] header, int contentBytes) {
    int follow = contentBytes + ADDED_BYTES - HEADER_BYTES;
    header[0] = TYPE_DATA;
    header[1] = VERSION;
    header[2] = VERSION;
    header[3] = (byte) (follow >> 8);
    header[4] = (byte) follow;
  }

  /** Returns how much follows a header, or -1 if no record begins with it. */
  static int following(byte[] header) {
    int follow = (header[3] & 0xff) << 8 | header[4] & 0xff;
    boolean known = header[0] == TYPE_DATA && header[1] == VERSION && header[2] == VERSION;
    boolean fits = follow > ADDED_BYTES - HEADER_BYTES && follow <= MAX_BYTES - HEADER_BYTES;
    return known && fits ? follow : -1;
  }
}
