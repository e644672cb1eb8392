// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A channel within this process. The receiver reads the sender's memory; small pieces are copied,
 * so that the sender need not wait for the receiver.
 */
final class LocalChannel implements Outlet, Inlet {
  private record Piece(long address, long lengthBytes, boolean isCopy) {}

  private static final int MAX_COPIES = 16;
  private static final int MAX_COPY_BYTES = 4096;

  /** So often the receiver looks again, while others run, before it sleeps. */
  private static final int LOOKS = 30;

  /** What is copied between two looks at whether the channel was closed. */
  private static final long COPY_BYTES = 1 << 20;

  @GuardedBy("this")
  private final ArrayDeque<Piece> pieces = new ArrayDeque<>();

  /** Of the first piece, what the receiver has had. */
  @GuardedBy("this")
  private long firstTakenBytes;

  @GuardedBy("this")
  private long givenBytes;

  @GuardedBy("this")
  private long takenBytes;

  /** What the receiver reads in place right now. */
  @GuardedBy("this")
  private long heldBytes;

  @GuardedBy("this")
  private boolean closed;

  /** Up to where the sender's own memory was handed over, among the given bytes. */
  @GuardedBy("this")
  private long borrowedBytes;

  /** Room for small pieces, used in turn. */
  @GuardedBy("this")
  private @Nullable MemorySegment copies;

  @GuardedBy("this")
  private int nextCopy;

  @GuardedBy("this")
  private int untakenCopies;

  /** As {@link #givenBytes}, for a look without the lock. */
  private volatile long announcedBytes;

  /** As {@link #takenBytes}; the receiver's alone. */
  private long seenBytes;

  /** Does work of the receiver's GPU; the receiver's alone. */
  private Executor gpu = Runnable::run;

  /** Where pieces are joined that the receiver wants in one; the receiver's alone. */
  private @Nullable MemorySegment joined;

  /** Returns the receiving end, where a GPU copies. */
  Inlet on(Executor receiver) {
    gpu = receiver;
    return this;
  }

  @Override
  public synchronized void send(long address, long lengthBytes) throws ChannelException {
    checkOpen();
    if (lengthBytes > 0) {
      givenBytes += lengthBytes;
      if (lengthBytes <= MAX_COPY_BYTES && untakenCopies < MAX_COPIES) {
        pieces.add(new Piece(copy(address, lengthBytes), lengthBytes, true));
      } else {
        pieces.add(new Piece(address, lengthBytes, false));
        borrowedBytes = givenBytes;
      }
      announcedBytes = givenBytes;
      notifyAll();
    }
  }

  @GuardedBy("this")
  private long copy(long address, long lengthBytes) {
    MemorySegment room = copies;
    if (room == null) {
      room = Arena.ofAuto().allocate((long) MAX_COPIES * MAX_COPY_BYTES, Long.BYTES);
      copies = room;
    }
    long copy = room.address() + (long) nextCopy * MAX_COPY_BYTES;
    Memory.copy(address, copy, lengthBytes);
    nextCopy = (nextCopy + 1) % MAX_COPIES;
    untakenCopies++;
    return copy;
  }

  @Override
  public synchronized long givenBytes() {
    return givenBytes;
  }

  @Override
  public synchronized void awaitTaken(long firstBytes) throws ChannelException {
    while (closed ? heldBytes > 0 : takenBytes < Math.min(firstBytes, borrowedBytes)) {
      await();
    }
    checkOpen();
  }

  @Override
  public long next(long lengthBytes) throws ChannelException {
    Segments.check(lengthBytes);
    if (lengthBytes == 0) {
      return 0;
    }
    Piece part = hold(lengthBytes);
    if (part.lengthBytes == lengthBytes) {
      return part.address;
    }
    stopReading();
    MemorySegment whole = joined;
    if (whole == null) {
      whole = Arena.ofAuto().allocate(Segments.BYTES, Long.BYTES);
      joined = whole;
    }
    receive(whole.address(), lengthBytes);
    return whole.address();
  }

  @Override
  public void receive(long target, long lengthBytes) throws ChannelException {
    long received = 0;
    while (received < lengthBytes) {
      Piece part = hold(Math.min(lengthBytes - received, COPY_BYTES));
      long to = target + received;
      gpu.execute(() -> Memory.copy(part.address, to, part.lengthBytes));
      received += part.lengthBytes;
      take();
    }
  }

  @Override
  public void release() {
    take();
  }

  @Override
  public boolean sendsPending() {
    return false;
  }

  @Override
  public synchronized void close() {
    closed = true;
    notifyAll();
  }

  /** Waits for bytes and returns those of them that lie together, for the receiver to read. */
  private Piece hold(long lengthBytes) throws ChannelException {
    for (int look = 0; look < LOOKS && announcedBytes == seenBytes; look++) {
      Thread.yield();
    }
    return holdFirst(lengthBytes);
  }

  private synchronized Piece holdFirst(long lengthBytes) throws ChannelException {
    while (!closed && pieces.isEmpty()) {
      await();
    }
    checkOpen();
    Piece first = pieces.element();
    heldBytes = Math.min(first.lengthBytes - firstTakenBytes, lengthBytes);
    return new Piece(first.address + firstTakenBytes, heldBytes, first.isCopy);
  }

  /** Stops reading the bytes that are held without taking them. */
  private synchronized void stopReading() {
    heldBytes = 0;
    notifyAll();
  }

  /** Takes the bytes that are held. */
  private synchronized void take() {
    if (heldBytes > 0) {
      firstTakenBytes += heldBytes;
      takenBytes += heldBytes;
      seenBytes = takenBytes;
      heldBytes = 0;
      if (firstTakenBytes == pieces.element().lengthBytes) {
        untakenCopies -= pieces.remove().isCopy ? 1 : 0;
        firstTakenBytes = 0;
      }
      notifyAll();
    }
  }

  @GuardedBy("this")
  private void checkOpen() throws ChannelException {
    if (closed) {
      throw new ChannelException("the channel between two ranks was closed");
    }
  }

  /** An interrupt closes the channel. */
  @GuardedBy("this")
  private void await() {
    try {
      wait();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      closed = true;
      notifyAll();
    }
  }
}
