// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.util.concurrent.atomic.LongAdder;

/** The reader of one connection to another worker. Owned by one thread. */
final class PeerReader implements AutoCloseable {
  /** No further frame will come. */
  static final int END = 0;

  /** The other worker has told up to where it has everything. */
  static final int ACKNOWLEDGED = -1;

  /** The other worker's session has ended. */
  static final int GOODBYE = -2;

  private static final int SCRATCH_BYTES = 128;

  private final int fd;
  private final int link;
  private final PeerListener listener;
  private final LongAdder receivedBytes;
  private final boolean knowsControl;
  private final long in = Posix.map(SCRATCH_BYTES);
  private long result;

  /**
   * Begins to read.
   *
   * @param knowsControl whether there may be frames that count for no position
   */
  PeerReader(
      int fd, int link, PeerListener listener, LongAdder receivedBytes, boolean knowsControl) {
    this.fd = fd;
    this.link = link;
    this.listener = listener;
    this.receivedBytes = receivedBytes;
    this.knowsControl = knowsControl;
  }

  /** Returns what receiving gave at the end. */
  long result() {
    return result;
  }

  /** Returns the position of an acknowledgement that has just come. */
  long position() {
    return Memory.getLong(in + PeerFrames.TICKET_OFFSET);
  }

  /** Receives a frame and hands it on; returns its length, or what it is in place of that. */
  int receiveFrame() throws PeerException {
    if (!receive(in, PeerFrames.HEADER_BYTES)) {
      return END;
    }
    int length = Memory.getInt(in);
    int kind = Memory.getShort(in + PeerFrames.KIND_OFFSET);
    int value = Memory.getInt(in + PeerFrames.VALUE_OFFSET);
    long ticket = Memory.getLong(in + PeerFrames.TICKET_OFFSET);
    boolean isPiece = kind == PeerFrames.PIECE && value > 0 && value <= PeerFrames.MAX_PIECE_BYTES;
    int rest = kind == PeerFrames.PULL || isPiece ? PeerFrames.LONG_BYTES : 0;
    if (length != PeerFrames.HEADER_BYTES + rest + (isPiece ? PeerFrames.padded(value) : 0)) {
      throw new PeerException(
          "kind " + kind + " of " + Integer.toUnsignedString(length) + " bytes");
    }
    if (rest > 0 && !receive(in + PeerFrames.HEADER_BYTES, rest)) {
      return END;
    }
    long more = Memory.getLong(in + PeerFrames.HEADER_BYTES);
    switch (kind) {
      case PeerFrames.TICKET -> listener.ticketCame(link, ticket);
      case PeerFrames.PULL -> listener.pullCame(link, ticket, more);
      case PeerFrames.END -> listener.pullEnded(link, ticket, value);
      case PeerFrames.PIECE -> {
        return receivePiece(ticket, more, value) ? length : END;
      }
      default -> {
        return control(kind);
      }
    }
    return length;
  }

  private int control(int kind) throws PeerException {
    if (knowsControl && kind == PeerFrames.ACKNOWLEDGE) {
      return ACKNOWLEDGED;
    }
    if (knowsControl && kind == PeerFrames.GOODBYE) {
      return GOODBYE;
    }
    throw new PeerException("kind " + kind);
  }

  private boolean receivePiece(long ticket, long offset, int lengthBytes) throws PeerException {
    long address = listener.place(link, ticket, offset, lengthBytes);
    int padding = PeerFrames.padded(lengthBytes) - lengthBytes;
    if (!receive(address, lengthBytes) || !receive(in, padding)) {
      return false;
    }
    receivedBytes.add(lengthBytes);
    listener.placed(link, ticket, offset, lengthBytes);
    return true;
  }

  /** Receives all of that many bytes; false at the end. */
  private boolean receive(long address, int lengthBytes) {
    int there = 0;
    while (there < lengthBytes) {
      result = Posix.recv(fd, address + there, lengthBytes - there, 0);
      if (result <= 0) {
        return false;
      }
      there += (int) result;
    }
    return true;
  }

  @Override
  public void close() {
    Posix.unmap(in, SCRATCH_BYTES);
  }
}
