// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;

/**
 * A rank of a communicator of NCCL. It is deleted when its session ends, or when all ranks have
 * left.
 *
 * @param server that has its session
 * @param ranks of the communicator
 * @param key that opens connections of other ranks to this one; known to servers alone
 * @param hasLeft whether its communicator was destroyed, and not lost
 * @param uniqueId in hexadecimal, of rank 0 on an NVIDIA GPU: by which NCCL's ranks meet; known to
 *     servers and ranks alone, and empty otherwise
 */
public record CommunicatorRank(
    String server, SessionId session, int ranks, SessionKey key, boolean hasLeft, String uniqueId) {
  /** Returns the same rank after its communicator was destroyed. */
  public CommunicatorRank left() {
    return new CommunicatorRank(server, session, ranks, key, true, uniqueId);
  }
}
