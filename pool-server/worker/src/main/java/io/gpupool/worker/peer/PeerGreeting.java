// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import io.gpupool.cuda.SilenceLimits;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.util.concurrent.TimeUnit;

/**
 * The beginning of a connection that can be resumed. The worker that was called sends a nonce; the
 * caller answers with the secret, or from the second time on with a proof of it, and its position;
 * the called one tells its own.
 */
final class PeerGreeting implements AutoCloseable {
  /** The greeting failed, and nothing is known of the other worker. */
  static final long FAILED = -1;

  /** The other worker is not the one that it was. */
  static final long STRANGER = -2;

  private static final int PROOF_OFFSET = PeerFrames.HEADER_BYTES;
  private static final int LONG_FRAME_BYTES = PROOF_OFFSET + PeerSecret.BYTES;
  private static final int POLL_OFFSET = 64;
  private static final int SCRATCH_BYTES = 128;

  private final int fd;
  private final long frame = Posix.map(SCRATCH_BYTES);
  private final long deadlineNanos =
      System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(SilenceLimits.MILLIS);

  /** Of a connection, whose descriptor stays the caller's. */
  PeerGreeting(int fd) {
    this.fd = fd;
  }

  /**
   * Greets a caller; returns the position up to which it has everything, if it is the right one.
   */
  long called(byte[] nonce, PeerSecret secret) {
    boolean known = secret.isKnown();
    put(PeerFrames.CHALLENGE, known ? 1 : 0, 0, nonce);
    if (!send(LONG_FRAME_BYTES) || !receive(LONG_FRAME_BYTES, PeerFrames.RESUME)) {
      return FAILED;
    }
    long position = Memory.getLong(frame + PeerFrames.TICKET_OFFSET);
    boolean proves = Memory.getInt(frame + PeerFrames.VALUE_OFFSET) != 0;
    byte[] shown = bytes();
    if (position < 0 || proves != known) {
      return STRANGER;
    }
    boolean right = proves ? secret.isProof(shown, nonce, position) : secret.learn(shown);
    return right ? position : STRANGER;
  }

  /** Ends the greeting of a caller. */
  boolean welcome(long received) {
    put(PeerFrames.RESUMED, 0, received, new byte[0]);
    return send(PeerFrames.HEADER_BYTES);
  }

  /**
   * Greets a worker that was called; returns the position up to which it has everything.
   *
   * @param random for a secret, if there is none yet
   * @param before whether there was a connection with it before
   */
  long caller(byte[] random, PeerSecret secret, long received, boolean before) {
    if (!receive(LONG_FRAME_BYTES, PeerFrames.CHALLENGE)) {
      return FAILED;
    }
    boolean known = Memory.getInt(frame + PeerFrames.VALUE_OFFSET) != 0;
    byte[] nonce = bytes();
    if (!secret.isKnown()) {
      boolean ignored = secret.learn(random);
    }
    if (!known && before) {
      return STRANGER;
    }
    put(
        PeerFrames.RESUME,
        known ? 1 : 0,
        received,
        known ? secret.proof(nonce, received) : secret.shown());
    if (!send(LONG_FRAME_BYTES) || !receive(PeerFrames.HEADER_BYTES, PeerFrames.RESUMED)) {
      return FAILED;
    }
    long position = Memory.getLong(frame + PeerFrames.TICKET_OFFSET);
    return position < 0 ? STRANGER : position;
  }

  private void put(int kind, int value, long position, byte[] more) {
    Memory.putLong(frame, PeerFrames.HEADER_BYTES + more.length | (long) kind << 32);
    Memory.putLong(frame + PeerFrames.VALUE_OFFSET, Integer.toUnsignedLong(value));
    Memory.putLong(frame + PeerFrames.TICKET_OFFSET, position);
    Memory.put(frame + PROOF_OFFSET, more, more.length);
  }

  private byte[] bytes() {
    return Memory.bytes(frame + PROOF_OFFSET, PeerSecret.BYTES);
  }

  private boolean send(int lengthBytes) {
    return Posix.sendAll(fd, frame, lengthBytes, false) == 0;
  }

  /** Receives a frame of that length and kind within the time limit. */
  private boolean receive(int lengthBytes, int kind) {
    int there = 0;
    while (there < lengthBytes) {
      long leftMillis = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime());
      Memory.putInt(frame + POLL_OFFSET, fd);
      Memory.putInt(frame + POLL_OFFSET + 4, Posix.POLLIN);
      if (leftMillis <= 0 || Posix.poll(frame + POLL_OFFSET, 1, (int) leftMillis) < 0) {
        return false;
      }
      long count = Posix.recv(fd, frame + there, lengthBytes - there, Posix.MSG_DONTWAIT);
      if (count == 0 || count < 0 && count != -Posix.EAGAIN) {
        return false;
      }
      there += (int) Math.max(0, count);
    }
    return Memory.getInt(frame) == lengthBytes
        && Memory.getShort(frame + PeerFrames.KIND_OFFSET) == kind;
  }

  @Override
  public void close() {
    Posix.unmap(frame, SCRATCH_BYTES);
  }
}
