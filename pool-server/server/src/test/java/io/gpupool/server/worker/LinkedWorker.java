// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.transport.Detaching;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.wire.TextMessage;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.unix.FileDescriptor;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/** A worker without a process, whose control socket is in memory. */
public final class LinkedWorker {
  private final EmbeddedChannel channel = new EmbeddedChannel(new Duplication());
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
    for (Object sent : sent()) {
      told.add(sent instanceof TextMessage message ? message.type() : "descriptor");
      close(sent);
    }
    return told;
  }

  /** Returns the messages that it was sent since the last call. */
  public List<TextMessage> texts() {
    List<TextMessage> texts = new ArrayList<>();
    for (Object sent : sent()) {
      if (sent instanceof TextMessage message) {
        texts.add(message);
      }
      close(sent);
    }
    return texts;
  }

  /** Returns whether it was told to exit. */
  public boolean isEnded() {
    return !channel.isOpen();
  }

  private static void close(Object sent) {
    if (sent instanceof FileDescriptor descriptor) {
      Detaching.closeQuietly(descriptor);
    }
  }

  /** A duplication of descriptors that are sent, as their sender closes its own. */
  private static final class Duplication extends ChannelOutboundHandlerAdapter {
    private static final MethodHandle DUP =
        Linker.nativeLinker()
            .downcallHandle(
                Linker.nativeLinker().defaultLookup().findOrThrow("dup"),
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));

    @Override
    public void write(ChannelHandlerContext context, Object sent, ChannelPromise promise) {
      context.write(
          sent instanceof FileDescriptor descriptor ? duplicate(descriptor) : sent, promise);
    }

    private static FileDescriptor duplicate(FileDescriptor descriptor) {
      try {
        return new FileDescriptor((int) DUP.invokeExact(descriptor.intValue()));
      } catch (Throwable e) {
        throw new AssertionError(e);
      }
    }
  }

  /** Returns messages and descriptors that it was sent since the last call, for it to close. */
  public List<Object> sent() {
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
