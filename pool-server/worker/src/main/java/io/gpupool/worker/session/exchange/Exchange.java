// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.exchange;

import io.gpupool.worker.os.Posix;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The place where the sessions of a lease on one server leave what they share with each other. Used
 * by the session's thread alone, which it may keep waiting for a moment.
 */
public interface Exchange {
  /** Of a session that has no others. */
  Exchange NONE = new NoExchange();

  /** Kinds of things that can be shared. */
  enum Kind {
    MEMORY,
    EVENT,
    BLOCK,
    POOL,
    /** Memory of a shared pool. */
    POINTER
  }

  /**
   * Something that others may have.
   *
   * @param gpu by its number in the lease
   * @param lengthBytes what of the lease's memory it counts; 0 for what is no memory
   * @param descriptor the descriptor that another process needs for it, if it needs one; stays the
   *     caller's
   * @param handle the backend's handle
   */
  record Offer(Kind kind, int gpu, long lengthBytes, @Nullable Integer descriptor, byte[] handle) {}

  /**
   * Something of another session.
   *
   * @param descriptor its descriptor in this process, if it has one; becomes the caller's
   */
  record Taken(int gpu, long lengthBytes, @Nullable Integer descriptor, byte[] handle) {
    /** Returns the descriptor, or -1 if there is none. */
    public int descriptorOrNone() {
      return descriptor == null ? -1 : descriptor;
    }

    /** Closes the descriptor, if there is one. */
    public void closeDescriptor() {
      if (descriptor != null) {
        Posix.close(descriptor);
      }
    }
  }

  /** Lets the other sessions have something, under the token that is returned. */
  Token offer(Offer offer) throws NotSharedException;

  /** Takes what another session has left; {@link #giveBack} ends that. */
  Taken take(Token token, Kind kind) throws NotSharedException;

  /** Gives back the use of a thing that was taken under a token. */
  void giveBack(Token token);

  /**
   * No other session shall take this any more.
   *
   * @return whether none has it; else the token will be among {@link #released}
   */
  boolean withdraw(Token token);

  /**
   * Asks for tokens that were withdrawn when another session had what they stand for, which none
   * has now.
   */
  List<Token> released();
}
