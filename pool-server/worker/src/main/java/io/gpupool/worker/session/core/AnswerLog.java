// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.ResumeLimits;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answers of a call stream that the client has not acknowledged, by their position in the
 * stream. One thread at a time appends, one sends what is there, the session's thread acknowledges.
 */
public final class AnswerLog {
  /** Memory is taken in pieces of this length. */
  static final int CHUNK_BYTES = 1 << 20;

  /** Memory of others that it keeps for sending again; further bytes are copied. */
  private static final int MAX_LENT = 32;

  private static final int MUCH_LENT = 6;
  private static final int SPARE_CHUNKS = 8;

  /** The bytes that it holds before its appender waits; one chunk may be written meanwhile. */
  private static final long LIMIT_BYTES = ResumeLimits.MAX_RETAINED_BYTES - CHUNK_BYTES;

  /** The owner of memory that a log keeps until the client has it. */
  public interface Lender {
    /** The memory is not needed any more. Any thread may tell. */
    void give(long address);
  }

  /** Bytes that lie together: a part of a chunk, or lent memory. */
  private static final class Piece {
    final long from;
    int lengthBytes;
    long address;
    @Nullable Chunk chunk;
    @Nullable Lender lender;

    Piece(long from, long address, int lengthBytes) {
      this.from = from;
      this.address = address;
      this.lengthBytes = lengthBytes;
    }

    long to() {
      return from + lengthBytes;
    }
  }

  /** Memory of the log's own. */
  private static final class Chunk {
    final long address;
    final int lengthBytes;
    int pieces;

    Chunk(int lengthBytes) {
      this.lengthBytes = lengthBytes;
      address = Posix.map(lengthBytes);
      if (address == 0) {
        throw new OutOfMemoryError("no memory for the answers of a session");
      }
    }
  }

  /** Bytes to be sent. */
  record Range(long address, int lengthBytes, boolean moreFollows) {}

  @GuardedBy("this")
  private final ArrayDeque<Piece> pieces = new ArrayDeque<>();

  @GuardedBy("this")
  private final ArrayDeque<Chunk> spare = new ArrayDeque<>();

  @GuardedBy("this")
  private Chunk current = new Chunk(CHUNK_BYTES);

  /** How much of the current chunk is in the log. */
  @GuardedBy("this")
  private int written;

  @GuardedBy("this")
  private long end;

  @GuardedBy("this")
  private long acknowledged;

  @GuardedBy("this")
  private int lent;

  @GuardedBy("this")
  private boolean ending;

  @GuardedBy("this")
  private boolean closed;

  @GuardedBy("this")
  private long fullSince;

  /** Starts with nothing. */
  public AnswerLog() {}

  /** Goes on with another log, of which the client has not acknowledged these bytes. */
  public AnswerLog(long acknowledged, byte[] kept) {
    this.acknowledged = acknowledged;
    end = acknowledged;
    if (kept.length > 0) {
      Chunk chunk = new Chunk(kept.length);
      Memory.put(chunk.address, kept, kept.length);
      Piece piece = new Piece(acknowledged, chunk.address, kept.length);
      piece.chunk = chunk;
      chunk.pieces = 1;
      pieces.add(piece);
      end += kept.length;
    }
  }

  /** The bytes that the client has not acknowledged. */
  public synchronized byte[] kept() {
    byte[] kept = new byte[(int) (end - acknowledged)];
    for (Piece piece : pieces) {
      byte[] bytes = Memory.bytes(piece.address, piece.lengthBytes);
      int skipped = (int) Math.max(0, acknowledged - piece.from);
      System.arraycopy(
          bytes,
          skipped,
          kept,
          (int) (piece.from + skipped - acknowledged),
          bytes.length - skipped);
    }
    return kept;
  }

  /** The position behind the last byte. */
  public synchronized long endPosition() {
    return end;
  }

  /** The position up to which the client has everything. */
  public synchronized long acknowledged() {
    return acknowledged;
  }

  /** Returns whether so many bytes may be appended. */
  synchronized boolean hasRoom(int bytes) {
    return end + bytes - acknowledged <= LIMIT_BYTES;
  }

  /** Returns whether it keeps so much memory of others that it is time to give some back. */
  synchronized boolean hasLentMuch() {
    return lent >= MUCH_LENT;
  }

  /** Returns whether nobody has to wait for room any more. */
  synchronized boolean isEnding() {
    return ending;
  }

  /** Waits for room, or the end; for threads other than the one that acknowledges. */
  synchronized void awaitRoom(int bytes) {
    while (!ending && !hasRoom(bytes)) {
      try {
        wait();
      } catch (InterruptedException e) {
        throw new IllegalStateException("a thread that answers was interrupted", e);
      }
    }
  }

  /** Notes that an appender waits, from now on or no longer. */
  synchronized void full(boolean isFull) {
    fullSince = isFull ? Math.max(1, System.nanoTime()) : 0;
  }

  /** Returns whether an appender waits. */
  synchronized boolean isFull() {
    return fullSince != 0;
  }

  /** Returns for how long an appender has waited. */
  public synchronized long fullNanos() {
    return fullSince == 0 ? 0 : System.nanoTime() - fullSince;
  }

  /** The session ends: nobody waits for room any more; what there is none for will be dropped. */
  public synchronized void end() {
    ending = true;
    notifyAll();
  }

  /** Starts a new chunk, with room for {@link #CHUNK_BYTES}; returns its address. */
  synchronized long nextChunk() {
    if (current.pieces == 0) {
      keep(current);
    }
    current = takeChunk();
    written = 0;
    return current.address;
  }

  /** The address of the chunk to be written, at first. */
  synchronized long chunk() {
    return current.address;
  }

  /** Takes over what was written of the current chunk, up to this length of it. */
  synchronized void commit(int upTo) {
    int bytes = upTo - written;
    if (bytes == 0 || closed) {
      written = upTo;
      return;
    }
    Piece last = pieces.peekLast();
    long address = current.address + written;
    if (last != null
        && last.chunk == current
        && last.lender == null
        && last.address + last.lengthBytes == address) {
      last.lengthBytes += bytes;
    } else {
      Piece piece = new Piece(end, address, bytes);
      piece.chunk = current;
      current.pieces++;
      pieces.add(piece);
    }
    written = upTo;
    end += bytes;
  }

  /** Appends memory that stays as it is until its lender is told; false: it has to be copied. */
  synchronized boolean lend(long address, int lengthBytes, Lender lender) {
    if (closed || lent >= MAX_LENT) {
      return false;
    }
    Piece piece = new Piece(end, address, lengthBytes);
    piece.lender = lender;
    pieces.add(piece);
    lent++;
    end += lengthBytes;
    return true;
  }

  /** Finds what comes next from a position on; null if there is nothing yet. */
  synchronized @Nullable Range next(long position) {
    if (position >= end || closed) {
      return null;
    }
    for (Iterator<Piece> latest = pieces.descendingIterator(); latest.hasNext(); ) {
      Piece piece = latest.next();
      if (piece.from <= position) {
        int skipped = (int) (position - piece.from);
        return new Range(piece.address + skipped, piece.lengthBytes - skipped, piece.to() < end);
      }
    }
    throw new IllegalStateException("position " + position + " is not kept any more");
  }

  /** The client has everything up to a position between the last acknowledged one and the end. */
  void acknowledge(long position) {
    List<Piece> returned = new ArrayList<>(0);
    synchronized (this) {
      acknowledged = position;
      for (Piece first = pieces.peek();
          first != null && first.to() <= position;
          first = pieces.peek()) {
        pieces.remove();
        release(first, returned);
      }
      notifyAll();
    }
    giveBack(returned);
  }

  /**
   * Copies what a lender has lent: its memory goes. Nothing may be sent meanwhile.
   *
   * @param lender null: every lender
   */
  synchronized void copyLent(Lender lender) {
    for (Piece piece : pieces) {
      if (piece.lender == lender) {
        Chunk own = piece.lengthBytes > CHUNK_BYTES ? new Chunk(piece.lengthBytes) : takeChunk();
        Memory.copy(piece.address, own.address, piece.lengthBytes);
        own.pieces = 1;
        piece.chunk = own;
        piece.address = own.address;
        piece.lender = null;
        lent--;
      }
    }
  }

  /** Drops everything, and what is still to come. Nothing may be sent meanwhile. */
  void close() {
    List<Piece> returned = new ArrayList<>();
    synchronized (this) {
      closed = true;
      ending = true;
      for (Piece piece : pieces) {
        release(piece, returned);
      }
      pieces.clear();
      notifyAll();
    }
    giveBack(returned);
  }

  /** Gives all memory back, of a log that is closed; nothing may be appended any more. */
  synchronized void release() {
    for (Chunk chunk = spare.poll(); chunk != null; chunk = spare.poll()) {
      Posix.unmap(chunk.address, chunk.lengthBytes);
    }
    Posix.unmap(current.address, current.lengthBytes);
  }

  @GuardedBy("this")
  private void release(Piece piece, List<Piece> returned) {
    if (piece.lender != null) {
      lent--;
      returned.add(piece);
    }
    Chunk chunk = piece.chunk;
    if (chunk != null && --chunk.pieces == 0 && chunk != current) {
      keep(chunk);
    }
  }

  @GuardedBy("this")
  private Chunk takeChunk() {
    Chunk free = spare.poll();
    return free == null ? new Chunk(CHUNK_BYTES) : free;
  }

  @GuardedBy("this")
  private void keep(Chunk chunk) {
    if (chunk.lengthBytes == CHUNK_BYTES && spare.size() < SPARE_CHUNKS) {
      spare.push(chunk);
    } else {
      Posix.unmap(chunk.address, chunk.lengthBytes);
    }
  }

  private static void giveBack(List<Piece> returned) {
    for (Piece piece : returned) {
      if (piece.lender != null) {
        piece.lender.give(piece.address);
      }
    }
  }
}
