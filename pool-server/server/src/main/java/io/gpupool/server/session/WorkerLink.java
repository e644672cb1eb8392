// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.transport.Detaching;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.wire.TextMessage;
import io.netty.channel.Channel;
import io.netty.channel.unix.FileDescriptor;

/** The control socket of one worker that has proved itself. For any thread. */
final class WorkerLink {
  private final Channel channel;

  WorkerLink(Channel channel) {
    this.channel = channel;
  }

  void send(TextMessage message) {
    channel.writeAndFlush(TextMessageDecoder.encode(message));
  }

  /** Sends a descriptor and closes this process's copy of it, sent or not. */
  void send(FileDescriptor descriptor) {
    channel.writeAndFlush(descriptor).addListener(done -> Detaching.closeQuietly(descriptor));
  }

  /** Tells the worker to exit. */
  void close() {
    channel.close();
  }
}
