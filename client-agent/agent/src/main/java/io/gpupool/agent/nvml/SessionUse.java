// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.nvml;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;

/** The use that a program makes of the GPUs of its lease, which may be on several servers. */
public final class SessionUse {
  private SessionUse() {}

  /**
   * Device memory of a session on one GPU. A session is at one server, and counts the lease's GPUs
   * of that server alone.
   *
   * @param gpu as the lease counts, from 0
   */
  public static long bytes(LeaseInfo lease, SessionInfo session, int gpu) {
    String server = lease.getGrants(gpu).getGrant().getServer();
    if (!session.getServer().isEmpty() && !session.getServer().equals(server)) {
      return 0;
    }
    int own = 0;
    for (int i = 0; i < gpu; i++) {
      String other = lease.getGrants(i).getGrant().getServer();
      own += session.getServer().isEmpty() || other.equals(server) ? 1 : 0;
    }
    return own < session.getUsedMemoryBytesCount() ? session.getUsedMemoryBytes(own) : 0;
  }
}
