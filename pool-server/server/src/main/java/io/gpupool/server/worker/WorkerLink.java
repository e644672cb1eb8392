// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.transport.Detaching;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.wire.TextMessage;
import io.netty.channel.Channel;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.unix.FileDescriptor;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The control socket of a worker that has proved its identity. A worker that does not read its
 * messages is ended. For any thread.
 */
public final class WorkerLink {
  /** Bytes and descriptors that wait for a worker to read; one that works has few. */
  private static final int MAX_UNREAD_BYTES = 1 << 20;

  private static final int MAX_UNREAD_DESCRIPTORS = 64;

  /** Digits of the numbers by which workers tell answers from each other. */
  private static final int MAX_REQUEST_DIGITS = 20;

  private static final Logger LOG = LoggerFactory.getLogger(WorkerLink.class);

  private final Channel channel;
  private final AtomicInteger unreadDescriptors = new AtomicInteger();

  WorkerLink(Channel channel) {
    this.channel = channel;
    channel
        .config()
        .setWriteBufferWaterMark(new WriteBufferWaterMark(MAX_UNREAD_BYTES / 2, MAX_UNREAD_BYTES));
  }

  /** Begins the answer to a request: a message of a type, with the number of the request. */
  public static TextMessage.Builder answer(String type, TextMessage request) {
    return TextMessage.ofType(type)
        .put(
            "request",
            request.get("request").filter(id -> id.length() <= MAX_REQUEST_DIGITS).orElse(""));
  }

  void send(TextMessage message) {
    if (isRead()) {
      channel.writeAndFlush(TextMessageDecoder.encode(message));
    }
  }

  /** Sends a descriptor and closes this process's copy of it, sent or not. */
  void send(FileDescriptor descriptor) {
    if (!isRead()) {
      Detaching.closeQuietly(descriptor);
      return;
    }
    unreadDescriptors.incrementAndGet();
    channel
        .writeAndFlush(descriptor)
        .addListener(done -> {
          unreadDescriptors.decrementAndGet();
          Detaching.closeQuietly(descriptor);
        });
  }

  /** Whether the worker reads what it is sent; closes the socket if it does not. */
  private boolean isRead() {
    if (channel.isWritable() && unreadDescriptors.get() < MAX_UNREAD_DESCRIPTORS) {
      return true;
    }
    if (channel.isOpen()) {
      LOG.warn("a worker is ended: it does not read what it is sent");
      channel.close();
    }
    return false;
  }

  /** Tells the worker to exit. */
  void close() {
    channel.close();
  }
}
