// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.client.SessionHandle;
import io.gpupool.client.StreamAbilities;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import java.time.Duration;

/**
 * The request of a shim whose call stream broke.
 *
 * @param server of the lease that has the session; empty: whichever is asked
 * @param resumeWindow for how long the session outlives its connection
 * @param holds whether the request's connection is the sign that the program lives
 * @param abilities of the shim on the stream
 * @param suspends whether the shim knows that sessions can be suspended
 */
record ResumeRequest(
    SessionHandle session,
    String server,
    Duration resumeWindow,
    boolean holds,
    StreamAbilities abilities,
    boolean suspends) {
  /**
   * Reads the message.
   *
   * @throws PoolRequestException if a value is missing or has the wrong form
   */
  static ResumeRequest of(TextMessage message) {
    try {
      HeldSessions.Link link = HeldSessions.Link.of(message, "");
      return new ResumeRequest(
          link.session(),
          link.server(),
          AttachRequest.window(message, "resume_window"),
          message.requireNumber("holds", 1) == 1,
          AttachRequest.abilities(message),
          message.get("suspends").filter("1"::equals).isPresent());
    } catch (WireException e) {
      throw new PoolRequestException(
          PoolRequestException.Cause.PROTOCOL, "the shim's request is wrong: " + e.getMessage());
    }
  }
}
