// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.client.SessionHandle;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import java.time.Duration;
import java.util.HexFormat;

/**
 * The request of a shim whose call stream broke.
 *
 * @param server of the lease that has the session; empty: whichever is asked
 * @param resumeWindow for how long the session outlives its connection
 * @param holds whether the request's connection is the sign that the program lives
 */
record ResumeRequest(SessionHandle session, String server, Duration resumeWindow, boolean holds) {
  private static final long MAX_WINDOW_SECONDS = 3600;

  /**
   * Reads the message.
   *
   * @throws PoolRequestException if a value is missing or has the wrong form
   */
  static ResumeRequest of(TextMessage message) {
    try {
      return new ResumeRequest(
          new SessionHandle(
              SessionId.ofBytes(hex(message, "session")),
              SessionKey.ofBytes(hex(message, "session_key"))),
          message.get("server").orElse(""),
          Duration.ofSeconds(message.requireNumber("resume_window", MAX_WINDOW_SECONDS)),
          message.requireNumber("holds", 1) == 1);
    } catch (WireException e) {
      throw new PoolRequestException(
          PoolRequestException.Cause.PROTOCOL, "the shim's request is wrong: " + e.getMessage());
    }
  }

  private static byte[] hex(TextMessage message, String key) throws WireException {
    try {
      return HexFormat.of().parseHex(message.require(key));
    } catch (IllegalArgumentException e) {
      // Without its message, which may quote the secret.
      throw new WireException("field '" + key + "' has other than hexadecimal digits");
    }
  }
}
