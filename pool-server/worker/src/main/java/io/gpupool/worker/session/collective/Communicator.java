// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import io.gpupool.worker.collective.CollectiveCall;
import io.gpupool.worker.session.core.ContextState;
import java.util.List;

/**
 * A rank of a communicator, as the session's program sees it, whatever carries its calls out. Used
 * by the session's thread, which no method keeps waiting for another rank.
 */
interface Communicator {
  /** Returns the context that the rank belongs to. */
  ContextState context();

  /** Joins the other ranks. */
  void join(RankName name, int ranks);

  /**
   * Splits it, together with the other ranks.
   *
   * @param color less than 0: the rank is in no part
   * @return the rank's part, which is to come
   */
  Communicator split(int color, int key);

  /**
   * Connects the rank with others, before the first transfer to or from them; the state is {@code
   * ncclInProgress} meanwhile.
   */
  void connect(List<Connection> connections);

  /**
   * A way of transfers.
   *
   * @param receives whether they come from the other rank
   */
  record Connection(int peer, boolean receives) {}

  /** What the program is told. */
  record State(int result, int ranks, int rank, long pending) {}

  State state();

  /** Returns what went wrong; empty if nothing did. */
  String error();

  int ranks();

  int rank();

  /** Returns whether calls can be added. */
  boolean isUsable();

  /**
   * Adds a group of calls in a stream.
   *
   * @return CUresult; EXTERNAL_DEVICE if the communicator has failed, and the stream goes on
   */
  int add(List<CollectiveCall> group, long stream);

  /** Ends it once its calls are complete. */
  void end();

  /** Ends it at once; its streams go on, and the other ranks are told. */
  void abort(String reason);

  /** Returns whether something of it may still touch memory of the session. */
  boolean isAlive();

  /** Waits until nothing of it touches memory of the session any more, after {@link #abort}. */
  void awaitEnd(long limitMillis);
}
