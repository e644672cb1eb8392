// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import org.jspecify.annotations.Nullable;

/**
 * The pool's directory of ranks: it brings the ranks of a communicator together, whatever sessions
 * they are of, and connects them. Any thread may ask; answers come later, by any thread.
 */
public interface RankDirectory {
  /** A directory of no pool, which lets nobody in. */
  RankDirectory NONE = new NoDirectory();

  /**
   * Says that a rank is there.
   *
   * @param uniqueId of NVIDIA's NCCL, for all ranks: of rank 0 alone, and only where NCCL is what
   *     carries the calls out
   */
  void join(RankName name, int ranks, byte @Nullable [] uniqueId, Listener listener);

  /**
   * A rank is there no more.
   *
   * @param lost whether other ranks are to know that it has failed
   */
  void leave(RankName name, boolean lost);

  /** Asks for the connection by which a rank sends to another one. */
  void connect(RankName name, int to);

  /** A rank, as it is told of the others. */
  interface Listener {
    /**
     * All ranks are there.
     *
     * @param uniqueId which rank 0 gave, if it did
     */
    void complete(byte @Nullable [] uniqueId);

    /** The rank is not let in. */
    void refused(String reason);

    /** Another rank is there no more. */
    void lost(int rank, String reason);

    /** A connected socket, which is the listener's, by which this rank sends to another. */
    void connected(int to, int socket);

    /** The connection that was asked for cannot be. */
    void unconnected(int to, String reason);

    /** A connected socket, which is the listener's, by which another rank sends to this one. */
    void connection(int from, int socket);
  }
}
