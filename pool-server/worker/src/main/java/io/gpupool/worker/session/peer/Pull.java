// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import io.gpupool.worker.peer.PeerException;
import io.gpupool.worker.session.copy.PieceWriter;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.quota.OwnedMemory;
import org.jspecify.annotations.Nullable;

/**
 * A copy from another worker's memory: its stream stands still while the bytes come. The session's
 * thread makes it, its stream begins it, the connection's reader carries it out.
 */
final class Pull {
  final ContextState context;
  final int link;
  private final PieceWriter writer;
  private final long lengthBytes;
  private final long skipped;

  @GuardedBy("this")
  private @Nullable Runnable open;

  @GuardedBy("this")
  private boolean over;

  @GuardedBy("this")
  private long comeBytes;

  /**
   * Makes one.
   *
   * @param skipped memory for a piece that nobody wants any more
   */
  Pull(
      ContextState context,
      int link,
      Backend backend,
      OwnedMemory owned,
      long target,
      long lengthBytes,
      long skipped) {
    this.context = context;
    this.link = link;
    writer = new PieceWriter(backend, owned, context, target, lengthBytes);
    this.lengthBytes = lengthBytes;
    this.skipped = skipped;
  }

  /** The stream stands; false if it need not, and goes on. */
  boolean begin(int status, Runnable openGate) {
    synchronized (this) {
      if (!over && status == 0) {
        open = openGate;
        return true;
      }
      over = true;
    }
    openGate.run();
    return false;
  }

  /** Returns the address for the next piece. */
  synchronized long place(long offset, int pieceBytes) throws PeerException {
    if (open == null && !over || offset != comeBytes || pieceBytes > lengthBytes - offset) {
      throw new PeerException(
          pieceBytes
              + " bytes at "
              + offset
              + " of a copy of "
              + lengthBytes
              + ", after "
              + comeBytes);
    }
    if (over) {
      return skipped;
    }
    return writer.place(offset);
  }

  synchronized void placed(long offset, int pieceBytes) {
    comeBytes += pieceBytes;
    if (!over) {
      writer.placed(offset, pieceBytes);
    }
  }

  /** All has come, or an error in its place. */
  void end(int result) throws PeerException {
    synchronized (this) {
      if (open == null && !over || result == 0 && comeBytes != lengthBytes) {
        throw new PeerException("the end of a copy after " + comeBytes + " of " + lengthBytes);
      }
      int own = over ? 0 : writer.finish();
      int first = result == 0 ? own : result;
      if (first != 0 && !over) {
        context.report(first);
      }
    }
    cancel();
  }

  /** The stream may go on, whatever has come. */
  void cancel() {
    Runnable action;
    synchronized (this) {
      action = over ? null : open;
      over = true;
    }
    if (action != null) {
      action.run();
    }
  }
}
