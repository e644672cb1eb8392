// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import java.util.Optional;

/**
 * What a shim asks for.
 *
 * @param ticket the lease it was given, if any
 */
record AttachRequest(
    int pid,
    String program,
    Optional<Ticket> ticket,
    LeaseWish wish,
    Optional<String> token,
    Optional<PoolAddress> pool) {

  /** A lease that somebody else holds. */
  record Ticket(String leaseId, String secret) {
    static Ticket parse(String text) {
      int dot = text.indexOf('.');
      if (dot <= 0 || dot == text.length() - 1) {
        throw new Refusal(Refusal.Cause.REFUSED, "GPUPOOL_LEASE is not ID.SECRET; was it cut off?");
      }
      return new Ticket(text.substring(0, dot), text.substring(dot + 1));
    }
  }

  /**
   * Reads an attach message.
   *
   * @throws Refusal if it is something else, or a value has the wrong form
   */
  static AttachRequest of(TextMessage message) {
    if (!message.type().equals("attach")) {
      throw new Refusal(Refusal.Cause.PROTOCOL, "the agent knows attach and status only");
    }
    String protocol = message.get("protocol").orElse("");
    if (!protocol.equals(Integer.toString(Versions.LOCAL_PROTOCOL))) {
      throw new Refusal(
          Refusal.Cause.PROTOCOL,
          "the shim speaks protocol "
              + (protocol.isEmpty() ? "of an unknown version" : protocol)
              + ", this agent "
              + Versions.LOCAL_PROTOCOL
              + "; install the same gpupool version for both");
    }
    try {
      return new AttachRequest(
          Integer.parseInt(message.get("pid").orElse("0")),
          message.get("program").orElse(""),
          message.get("lease").map(Ticket::parse),
          LeaseWish.from(message::get),
          message.get("token"),
          message.get("pool").map(PoolAddress::parse));
    } catch (NumberFormatException e) {
      throw new Refusal(Refusal.Cause.PROTOCOL, "the shim's pid is no number");
    } catch (IllegalArgumentException e) {
      throw new Refusal(Refusal.Cause.REFUSED, e.getMessage());
    }
  }
}
