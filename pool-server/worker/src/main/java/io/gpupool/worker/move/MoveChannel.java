// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.move;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * The connection between the two workers of a move. One thread at a time sends, and one receives;
 * any thread may break it.
 */
final class MoveChannel implements AutoCloseable {
  /** The version of what is said over it, and of the form of a state. */
  static final int VERSION = 1;

  private static final int HEADER_BYTES = 32;
  private static final int SCRATCH_BYTES = 64 << 10;
  private static final long MAX_TEXT_BYTES = 1 << 30;

  private final int fd;
  private final long sending = Posix.map(SCRATCH_BYTES);
  private final long receiving = Posix.map(SCRATCH_BYTES);
  private volatile long sentBytes;
  private boolean closed;

  /** Takes a blocking socket, which is the channel's to close. */
  MoveChannel(int fd) {
    this.fd = fd;
  }

  /** The bytes that were sent; any thread may ask. */
  long sentBytes() {
    return sentBytes;
  }

  /** Sends a message without anything behind it. */
  void send(MoveMessage.Kind kind, long first, long second) throws IOException {
    header(kind, first, second, 0, false);
  }

  /** Sends a message, with bytes behind it. */
  void send(MoveMessage.Kind kind, long first, long second, byte[] bytes) throws IOException {
    header(kind, first, second, bytes.length, true);
    for (int at = 0; at < bytes.length; at += SCRATCH_BYTES) {
      int length = Math.min(SCRATCH_BYTES, bytes.length - at);
      Memory.put(sending, java.util.Arrays.copyOfRange(bytes, at, at + length), length);
      sendBytes(sending, length, false);
    }
  }

  /** Sends a message, with memory of this process behind it. */
  void send(MoveMessage.Kind kind, long first, long second, long address, long lengthBytes)
      throws IOException {
    header(kind, first, second, lengthBytes, true);
    sendBytes(address, lengthBytes, false);
  }

  /**
   * Throws what the other worker has said of its failure, if it has; waits for nothing.
   *
   * @throws IOException with its reason
   */
  void requireNoFailure() throws IOException {
    int flags = Posix.MSG_PEEK | Posix.MSG_DONTWAIT;
    if (Posix.recv(fd, receiving, HEADER_BYTES, flags) == HEADER_BYTES) {
      MoveMessage ignored = expect(MoveMessage.Kind.FAILED);
    }
  }

  /**
   * Receives, and forgets, all that still comes, so that the other worker can read what was sent.
   */
  void drain() {
    while (Posix.recv(fd, receiving, SCRATCH_BYTES, 0) > 0) {
      // What the other worker has sent before it knew.
    }
  }

  /** Receives the header of a message. */
  MoveMessage receive() throws IOException {
    receiveBytes(receiving, HEADER_BYTES);
    int number = Memory.getInt(receiving);
    MoveMessage.Kind[] kinds = MoveMessage.Kind.values();
    long lengthBytes = Memory.getLong(receiving + 24);
    if (number < 0 || number >= kinds.length || lengthBytes < 0) {
      throw new IOException("no message of a move: " + number + " of " + lengthBytes + " bytes");
    }
    return new MoveMessage(
        kinds[number], Memory.getLong(receiving + 8), Memory.getLong(receiving + 16), lengthBytes);
  }

  /**
   * Receives a message of a kind.
   *
   * @throws IOException if it is another one; with its reason if that is FAILED
   */
  MoveMessage expect(MoveMessage.Kind kind) throws IOException {
    MoveMessage message = receive();
    if (message.kind() == MoveMessage.Kind.FAILED) {
      throw new IOException(new String(bytes(message), StandardCharsets.UTF_8));
    }
    if (message.kind() != kind) {
      throw new IOException(message.kind() + " came in place of " + kind);
    }
    return message;
  }

  /** Receives what is behind a message. */
  byte[] bytes(MoveMessage message) throws IOException {
    if (message.lengthBytes() > MAX_TEXT_BYTES) {
      throw new IOException(message + " is too long");
    }
    byte[] bytes = new byte[(int) message.lengthBytes()];
    for (int at = 0; at < bytes.length; at += SCRATCH_BYTES) {
      int length = Math.min(SCRATCH_BYTES, bytes.length - at);
      receiveBytes(receiving, length);
      System.arraycopy(Memory.bytes(receiving, length), 0, bytes, at, length);
    }
    return bytes;
  }

  /** Receives what is behind a message into memory of this process. */
  void receiveBytes(long address, long lengthBytes) throws IOException {
    for (long at = 0; at < lengthBytes; ) {
      long received = Posix.recv(fd, address + at, lengthBytes - at, 0);
      if (received == 0) {
        throw new EOFException("the other worker has closed the connection");
      }
      if (received < 0) {
        throw new IOException("the connection to the other worker broke: error " + -received);
      }
      at += received;
    }
  }

  /** Tells the other side that nothing more is sent. */
  void endSending() {
    Posix.shutdownSending(fd);
  }

  /** Ends whatever is under way. Any thread may call it. */
  synchronized void interrupt() {
    if (!closed) {
      Posix.shutdown(fd);
    }
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      Posix.close(fd);
      Posix.unmap(sending, SCRATCH_BYTES);
      Posix.unmap(receiving, SCRATCH_BYTES);
    }
  }

  private void header(
      MoveMessage.Kind kind, long first, long second, long lengthBytes, boolean moreFollows)
      throws IOException {
    Memory.putLong(sending, kind.ordinal());
    Memory.putLong(sending + 8, first);
    Memory.putLong(sending + 16, second);
    Memory.putLong(sending + 24, lengthBytes);
    sendBytes(sending, HEADER_BYTES, moreFollows && lengthBytes > 0);
  }

  private void sendBytes(long address, long lengthBytes, boolean moreFollows) throws IOException {
    int result = Posix.sendAll(fd, address, lengthBytes, moreFollows);
    if (result != 0) {
      throw new IOException("the connection to the other worker broke: error " + -result);
    }
    sentBytes = sentBytes + lengthBytes;
  }
}
