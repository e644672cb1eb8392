// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.wire.ClientHello;
import io.netty.channel.unix.FileDescriptor;
import java.util.concurrent.CompletableFuture;

/** A dialer of the call-stream ports of the pool's other servers. */
public interface ServerDialer {
  /**
   * Connects to a server and says hello.
   *
   * @param resumable whether there may be another connection if this one breaks
   * @return what a worker gets of the connection, which the caller must close; fails with a message
   *     for people. Completed on any thread.
   */
  CompletableFuture<FileDescriptor> dial(String server, ClientHello hello, boolean resumable);
}
