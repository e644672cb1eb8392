// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import io.gpupool.worker.os.UnixSocket;
import org.jspecify.annotations.Nullable;

/**
 * The connection of a server process that has proved that this worker is its own.
 *
 * @param inbox the socket on which it takes descriptors
 */
public record Claim(UnixSocket socket, @Nullable UnixSocket inbox) {
  /** Wakes all who read or write there. Any thread may call it. */
  void cut() {
    socket.cut();
    if (inbox != null) {
      inbox.cut();
    }
  }

  void close() {
    socket.close();
    if (inbox != null) {
      inbox.close();
    }
  }
}
