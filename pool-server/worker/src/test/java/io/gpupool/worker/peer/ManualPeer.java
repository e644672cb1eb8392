// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The other end of a connection between workers, byte by byte. */
final class ManualPeer implements AutoCloseable {
  private static final int LIMIT_MILLIS = 20_000;
  private static final int BUFFER_BYTES = 4096;

  /** The worker's end. */
  final int theirs;

  private final int fd;
  private final long buffer = Posix.map(2 * BUFFER_BYTES);

  /** A frame that came; {@code more}: what it has behind its header. */
  record Frame(int kind, int value, long ticket, byte[] more) {}

  ManualPeer() {
    int[] pair = Posix.socketPair();
    theirs = pair[0];
    fd = pair[1];
  }

  void send(int kind, int value, long ticket, byte[] more) {
    ByteBuffer frame =
        ByteBuffer.allocate(PeerFrames.HEADER_BYTES + more.length).order(ByteOrder.LITTLE_ENDIAN);
    frame.putInt(frame.capacity()).putInt(kind).putLong(value).putLong(ticket).put(more);
    send(frame.array());
  }

  void send(byte[] bytes) {
    Memory.put(buffer, bytes, bytes.length);
    int ignored = Posix.sendAll(fd, buffer, bytes.length, false);
  }

  /** Receives a frame; null at the end of the connection. */
  Frame receive() {
    byte[] header = receive(PeerFrames.HEADER_BYTES);
    if (header.length == 0) {
      return null;
    }
    ByteBuffer words = ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN);
    byte[] more = receive(words.getInt(0) - PeerFrames.HEADER_BYTES);
    return new Frame(
        words.getInt(PeerFrames.KIND_OFFSET),
        words.getInt(PeerFrames.VALUE_OFFSET),
        words.getLong(PeerFrames.TICKET_OFFSET),
        more);
  }

  private byte[] receive(int lengthBytes) {
    int there = 0;
    while (there < lengthBytes) {
      Memory.putInt(buffer + BUFFER_BYTES, fd);
      Memory.putInt(buffer + BUFFER_BYTES + 4, Posix.POLLIN);
      if (Posix.poll(buffer + BUFFER_BYTES, 1, LIMIT_MILLIS) <= 0) {
        throw new AssertionError("nothing has come");
      }
      long count = Posix.recv(fd, buffer + there, lengthBytes - there, 0);
      if (count <= 0) {
        return new byte[0];
      }
      there += (int) count;
    }
    return Memory.bytes(buffer, lengthBytes);
  }

  @Override
  public void close() {
    Posix.close(fd);
    Posix.unmap(buffer, 2 * BUFFER_BYTES);
  }
}
