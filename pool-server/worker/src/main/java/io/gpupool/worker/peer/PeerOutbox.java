// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.Posix;
import java.util.ArrayDeque;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The frames to one other worker that have not left, and, if the connection can be resumed, those
 * that it has not acknowledged. Any thread may use it.
 */
final class PeerOutbox {
  /** As many tickets as the other worker keeps. */
  private static final int MAX_SHORT = 1 << 20;

  /** Blocks of {@link PeerFrames#MAX_PIECE_BYTES} for the bytes of pieces. */
  private static final int MAX_BLOCKS = 32;

  private static final int SPARE_BLOCKS = 4;

  private final boolean retains;

  @GuardedBy("this")
  private final ArrayDeque<PeerFrame> waiting = new ArrayDeque<>();

  /** Frames that were handed to a connection and are kept. */
  @GuardedBy("this")
  private final ArrayDeque<PeerFrame> begun = new ArrayDeque<>();

  @GuardedBy("this")
  private final ArrayDeque<Long> spare = new ArrayDeque<>();

  @GuardedBy("this")
  private int blocks;

  @GuardedBy("this")
  private int shortFrames;

  /** The position behind the last frame that was added. */
  @GuardedBy("this")
  private long end;

  /** The position behind the last frame that was handed to the present connection. */
  @GuardedBy("this")
  private long handed;

  @GuardedBy("this")
  private long acknowledged;

  /** The position of what has come, which the other worker is to be told; -1: it need not be. */
  @GuardedBy("this")
  private long receipt = -1;

  @GuardedBy("this")
  private boolean connected;

  @GuardedBy("this")
  private boolean stirred;

  @GuardedBy("this")
  private boolean over;

  /**
   * Begins empty.
   *
   * @param retains whether frames are kept until they are acknowledged
   */
  PeerOutbox(boolean retains) {
    this.retains = retains;
  }

  /** Adds a frame; false if there are too many. */
  synchronized boolean add(PeerFrame frame) {
    if (over) {
      release(frame);
      return true;
    }
    if (frame.isShort() && shortFrames == MAX_SHORT) {
      return false;
    }
    shortFrames += frame.isShort() ? 1 : 0;
    end += frame.lengthBytes();
    frame.end = end;
    waiting.add(frame);
    return true;
  }

  /**
   * Takes a block for the bytes of a piece, and waits until there is one.
   *
   * @param wanted whether to wait for one without a connection; asked again after {@link #stir}
   * @return 0: it is not wanted any more, or all is over
   */
  synchronized long takeBlock(BooleanSupplier wanted) {
    while (!over && blocks == MAX_BLOCKS && (connected || wanted.getAsBoolean())) {
      pause();
    }
    if (over || blocks == MAX_BLOCKS) {
      return 0;
    }
    Long free = spare.poll();
    long block = free == null ? Posix.map(PeerFrames.MAX_PIECE_BYTES) : free;
    blocks += block == 0 ? 0 : 1;
    return block;
  }

  /** Has the other worker told up to where its frames have come, when there is a connection. */
  synchronized void acknowledgeUpTo(long received) {
    receipt = received;
  }

  /** Hands over the next frame; null if there is none. */
  synchronized @Nullable PeerFrame next() {
    if (receipt >= 0) {
      PeerFrame control = PeerFrame.of(PeerFrames.ACKNOWLEDGE, 0, receipt);
      receipt = -1;
      return control;
    }
    PeerFrame frame = waiting.poll();
    if (frame == null) {
      return null;
    }
    handed = frame.end;
    if (retains) {
      begun.add(frame);
    } else {
      shortFrames -= frame.isShort() ? 1 : 0;
    }
    return frame;
  }

  /**
   * The other worker has everything up to a position.
   *
   * @return false if it cannot have, or said otherwise before
   */
  synchronized boolean acknowledged(long position) {
    if (position < acknowledged || position > handed) {
      return false;
    }
    for (PeerFrame first = begun.peek();
        first != null && first.end <= position;
        first = begun.peek()) {
      begun.remove();
      acknowledged = first.end;
      shortFrames -= first.isShort() ? 1 : 0;
      release(first);
    }
    notifyAll();
    return acknowledged == position;
  }

  /** Goes back to a position from which a later connection goes on; false if it cannot. */
  synchronized boolean resumeAt(long position) {
    if (!acknowledged(position)) {
      return false;
    }
    for (PeerFrame last = begun.pollLast(); last != null; last = begun.pollLast()) {
      waiting.addFirst(last);
    }
    handed = position;
    receipt = -1;
    return true;
  }

  /** Names the positions at which a later connection can begin. */
  synchronized String range() {
    return acknowledged + " to " + handed;
  }

  /** There is a connection, or none any more. */
  synchronized void connected(boolean isConnected) {
    connected = isConnected;
    stir();
  }

  /** Has those who wait look again. */
  synchronized void stir() {
    stirred = true;
    notifyAll();
  }

  /** Waits until there may be something to send; false when all is over. */
  synchronized boolean awaitStir() {
    while (!stirred && !over) {
      pause();
    }
    stirred = false;
    return !over;
  }

  /** Nobody waits any more; what is added is dropped. */
  synchronized void end() {
    over = true;
    notifyAll();
  }

  /** Gives all memory back, when nobody sends any more. */
  synchronized void release() {
    over = true;
    waiting.forEach(this::release);
    waiting.clear();
    begun.forEach(this::release);
    begun.clear();
    spare.forEach(block -> Posix.unmap(block, PeerFrames.MAX_PIECE_BYTES));
    spare.clear();
  }

  @GuardedBy("this")
  private void release(PeerFrame frame) {
    if (!retains || frame.isShort()) {
      return;
    }
    blocks--;
    if (!over && spare.size() < SPARE_BLOCKS) {
      spare.push(frame.payload);
    } else {
      Posix.unmap(frame.payload, PeerFrames.MAX_PIECE_BYTES);
    }
  }

  @GuardedBy("this")
  private void pause() {
    try {
      wait();
    } catch (InterruptedException e) {
      throw new IllegalStateException("a thread that sends to another worker was interrupted", e);
    }
  }
}
