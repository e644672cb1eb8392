// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.wire.TextMessage;
import io.netty.buffer.ByteBuf;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.unix.FileDescriptor;
import java.util.ArrayList;
import java.util.List;

/** A worker without a process, whose control socket is in memory. */
public final class LinkedWorker {
  private final EmbeddedChannel channel = new EmbeddedChannel();
  private final EmbeddedChannel decoding = new EmbeddedChannel(new TextMessageDecoder());

  private final Worker worker;

  /** Links a worker that has not reported yet. */
  public LinkedWorker(Worker worker) {
    this.worker = worker;
    worker.linked(new WorkerLink(channel));
  }

  /** Links the only worker of a pool that has not reported yet. */
  public static LinkedWorker starting(WorkerPool pool) {
    return new LinkedWorker(pool.starting().getFirst());
  }

  /** Says something to the server. */
  public void say(TextMessage.Builder message) {
    worker.session().orElseThrow().onMessage(message.build());
  }

  /** Is dead from now on. */
  public void die() {
    worker.exited();
    worker.session().orElseThrow().workerExited(0);
  }

  /** Returns what it was sent since the last call: types of messages, and each descriptor. */
  public List<String> told() {
    List<String> told = new ArrayList<>();
    messages().forEach(sent -> told.add(sent instanceof TextMessage m ? m.type() : "descriptor"));
    return told;
  }

  /** Returns the messages that it was sent since the last call. */
  public List<TextMessage> texts() {
    return messages().stream()
        .filter(TextMessage.class::isInstance)
        .map(TextMessage.class::cast)
        .toList();
  }

  /** Returns whether it was told to exit. */
  public boolean isEnded() {
    return !channel.isOpen();
  }

  private List<Object> messages() {
    List<Object> messages = new ArrayList<>();
    for (Object sent = channel.readOutbound(); sent != null; sent = channel.readOutbound()) {
      if (sent instanceof ByteBuf bytes) {
        decoding.writeInbound(bytes);
        messages.add(decoding.readInbound());
      } else if (sent instanceof FileDescriptor) {
        messages.add(sent);
      }
    }
    return messages;
  }
}
