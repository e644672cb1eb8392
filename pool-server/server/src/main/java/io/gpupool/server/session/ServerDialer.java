// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.transport.dial.DialException;
import io.gpupool.wire.ClientHello;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

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

  /** Returns the cause of a failure to dial, which has the message for people. */
  static Throwable cause(Throwable failure) {
    Throwable inner = failure;
    while (inner.getCause() instanceof Throwable cause
        && (inner instanceof CompletionException || inner instanceof UncheckedIOException)) {
      inner = cause;
    }
    return inner;
  }

  /**
   * Returns whether a cause is for the network or the server to change, and not for the session.
   */
  static boolean isTemporary(Throwable cause) {
    return cause instanceof DialException dial
        ? dial.why() == DialException.Why.UNREACHABLE || dial.why() == DialException.Why.BROKEN
        : cause instanceof IOException;
  }
}
