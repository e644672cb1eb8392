// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.transport.BlockingSocket;
import io.gpupool.transport.Descriptors;
import io.gpupool.transport.StreamKeepAlive;
import io.gpupool.transport.StreamSilence;
import io.gpupool.transport.TcpState;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.UnixChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * The agent's own descriptor of a call stream that a program has. With it the agent checks the
 * connection, and ends it under a program that waits for an answer. Runs on the program's event
 * loop.
 */
final class GuardedStream {
  private final InetSocketAddress server;
  private final boolean resumable;
  private final FileDescriptor descriptor;
  private final BlockingSocket socket;

  /** Of a connection over TCP; null: both ends are of this machine, and neither falls silent. */
  private final @Nullable StreamSilence silence;

  /**
   * Duplicates the channel's descriptor.
   *
   * @param resumable whether another stream can take the place of this one
   */
  GuardedStream(UnixChannel stream, InetSocketAddress server, boolean resumable)
      throws IOException {
    this.server = server;
    this.resumable = resumable;
    if (resumable) {
      StreamKeepAlive.enableResumable(stream);
    }
    silence = StreamConnector.isLocal(stream) ? null : new StreamSilence(limitSeconds());
    descriptor = new FileDescriptor(Descriptors.duplicate(stream.fd().intValue()));
    socket = new BlockingSocket(descriptor);
  }

  boolean isResumable() {
    return resumable;
  }

  /** Returns what to say of a server that is silent. */
  String silenceText() {
    return "the server at " + server + " has not answered for " + limitSeconds() + " s";
  }

  private int limitSeconds() {
    return StreamKeepAlive.limitSeconds(resumable);
  }

  /** Returns whether the server has not answered for too long; to be asked about once a second. */
  boolean isSilent(long nowNanos) {
    if (silence == null) {
      return false;
    }
    try {
      return silence.isTooLong(TcpState.of(descriptor.intValue()), nowNanos);
    } catch (IOException e) {
      return false;
    }
  }

  /** Ends the connection for everybody who has it. */
  void shutdown() {
    socket.shutdown();
  }

  /** Lets go of the connection, which ends with the program's descriptor. */
  void close() {
    socket.close();
  }
}
