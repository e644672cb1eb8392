// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.stream;

import io.gpupool.wire.ServerHello;
import io.netty.channel.unix.FileDescriptor;
import java.util.concurrent.CompletableFuture;

/**
 * A connection whose handshake has been read: of a program, or its worker elsewhere. For any
 * thread.
 */
public interface CallStream {
  /**
   * Returns whether it is in clear text on a port that speaks TLS: only for sessions that are
   * sealed.
   */
  default boolean needsSeal() {
    return false;
  }

  /** Returns whether it comes by the socket of this machine: then it is never sealed. */
  default boolean isLocal() {
    return false;
  }

  /** Sends the answer and closes. */
  void refuse(ServerHello answer);

  /**
   * Sends the answer and takes the connection out of the event loop.
   *
   * @param resumable whether the program may come back on another connection if this one breaks, so
   *     that silence counts as a break sooner
   * @return the descriptor, now the caller's; fails when the connection has broken. Completed on an
   *     event loop.
   */
  CompletableFuture<FileDescriptor> accept(ServerHello answer, boolean resumable);
}
