// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.assignment;

import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;

/**
 * The names of an assigned session.
 *
 * @param id the session's
 * @param text lease, session and program, for the log
 */
public record SessionName(String id, String text) {
  static SessionName of(TextMessage message) throws WireException {
    String id = message.require("session");
    String text =
        "lease "
            + message.get("lease").orElse("?")
            + " session "
            + id
            + message.get("program").map(program -> " of " + program).orElse("");
    return new SessionName(id, text);
  }
}
