// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.client.SessionHandle;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * The sessions that a program has, as it describes them to the next agent.
 *
 * @param links one at each server of the lease
 * @param resumeWindow for how long they outlive their connections
 */
record HeldSessions(List<Link> links, Duration resumeWindow) {
  HeldSessions {
    links = List.copyOf(links);
  }

  /**
   * A session at one server.
   *
   * @param server its name; empty: whichever is asked
   */
  record Link(SessionHandle session, String server) {
    /**
     * Reads the values of a session.
     *
     * @param suffix of the keys
     */
    static Link of(TextMessage message, String suffix) throws WireException {
      return new Link(
          new SessionHandle(
              SessionId.ofBytes(hex(message, "session" + suffix)),
              SessionKey.ofBytes(hex(message, "session_key" + suffix))),
          message.get("server" + suffix).orElse(""));
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

  /**
   * Reads a hold message.
   *
   * @throws PoolRequestException if a value is missing or has the wrong form
   */
  static HeldSessions of(TextMessage message) {
    try {
      long count = message.requireNumber("streams", ClientHello.MAX_LINKS);
      List<Link> links = new ArrayList<>();
      for (int link = 0; link < count; link++) {
        links.add(Link.of(message, "." + link));
      }
      return new HeldSessions(links, AttachRequest.window(message, AttachRequest.WINDOW));
    } catch (WireException e) {
      throw new PoolRequestException(
          PoolRequestException.Cause.PROTOCOL, "the shim's request is wrong: " + e.getMessage());
    }
  }
}
