// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.server.identity.HolderName;
import io.gpupool.server.takeover.WorkerRecord;
import io.gpupool.transport.Detaching;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import io.gpupool.wire.WireException;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.PeerCredentials;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A claim to a worker of the server's former process. Each side proves its identity, and the worker
 * repeats what it shares. After that, it is the connection with the worker. It handles messages on
 * the control thread.
 */
final class WorkerClaim extends WorkerConnection {
  /** What a worker may say before it has its session again; one that works says far less. */
  private static final int MAX_EARLY = 1 << 14;

  /** The ledger and the schedules. */
  private static final String FILES = "2";

  private final WorkerRecord record;
  private final String session;
  private final Worker worker;
  private final CompletableFuture<ClaimedWorker> claimed;
  private final WorkerLink link;
  private final List<TextMessage> repeated = new ArrayList<>();

  /** What it has said after the repetition, while it had no session yet. */
  private final List<TextMessage> early = new ArrayList<>();

  private @Nullable DescriptorInbox inbox;
  private @Nullable TextMessage hello;
  private ClaimedWorker.@Nullable Files files;
  private @Nullable WorkerSession serving;

  /**
   * Begins when the connection is there.
   *
   * @param session the id of the session that it must have
   * @param claimed completes on the control thread, or fails with a message for people
   */
  WorkerClaim(
      EpollDomainSocketChannel channel,
      Executor control,
      WorkerRecord record,
      String session,
      Worker worker,
      CompletableFuture<ClaimedWorker> claimed) {
    super(channel, control);
    this.record = record;
    this.session = session;
    this.worker = worker;
    this.claimed = claimed;
    link = new WorkerLink(channel);
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    DescriptorInbox opened = DescriptorInbox.open();
    inbox = opened;
    link.send(
        TextMessage.ofType("claim")
            .put("protocol", Versions.LOCAL_PROTOCOL)
            .put("token", record.token())
            .put("inbox", 1)
            .build());
    link.send(opened.workersEnd());
  }

  @Override
  void onMessage(TextMessage message, PeerCredentials peer) {
    if (claimed.isDone()) {
      hear(message);
      return;
    }
    try {
      if (hello == null) {
        greet(message, peer);
      } else if (message.type().equals("claimed")) {
        worker.claimed(link, Objects.requireNonNull(inbox));
        claimed.complete(
            new ClaimedWorker(worker, hello, Objects.requireNonNull(files), repeated, this::serve));
      } else if (repeated.size() < MAX_EARLY) {
        repeated.add(message);
      } else {
        throw new WireException("it repeats too much");
      }
    } catch (WireException | IOException e) {
      fail(String.valueOf(e.getMessage()));
    }
  }

  private void greet(TextMessage message, PeerCredentials peer) throws WireException, IOException {
    if (message.type().equals("refused")) {
      throw new WireException(
          "it refuses: "
              + HolderName.plain(message.get("reason").orElse("no reason"))
              + ", protocol "
              + HolderName.plain(message.get("protocol").orElse("?")));
    }
    long protocol = message.requireNumber("protocol", Integer.MAX_VALUE);
    if (protocol > Versions.LOCAL_PROTOCOL || protocol < Versions.LOCAL_PROTOCOL - 1) {
      throw new WireException(
          "it speaks protocol " + protocol + ", this server " + Versions.LOCAL_PROTOCOL);
    }
    if (!message.type().equals("hello")
        || peer.pid() != record.process().pid()
        || !message.get("token").equals(Optional.of(record.token()))
        || !message.get("session").equals(Optional.of(session))) {
      throw new WireException("another process, or one with another session, answers for it");
    }
    if (!message.get("files").equals(Optional.of(FILES))) {
      throw new WireException("it does not hand back what it shares with the server");
    }
    DescriptorInbox handed = Objects.requireNonNull(inbox);
    int ledger = handed.take();
    try {
      files = new ClaimedWorker.Files(ledger, handed.take());
    } catch (IOException e) {
      Detaching.closeQuietly(new FileDescriptor(ledger));
      throw e;
    }
    hello = message;
  }

  private void hear(TextMessage message) {
    if (serving != null) {
      serving.onMessage(message);
    } else if (early.size() < MAX_EARLY) {
      early.add(message);
    } else {
      channel.close();
    }
  }

  /** Gives the worker its session. */
  private void serve(WorkerSession to) {
    serving = to;
    worker.serve(to);
    early.forEach(to::onMessage);
    early.clear();
  }

  @Override
  void onClosed() {
    if (claimed.isDone()) {
      worker.end();
    } else {
      fail("it closes the connection");
    }
  }

  /** Gives up, unless the worker has been claimed. */
  void fail(String reason) {
    if (!claimed.isDone()) {
      if (files != null) {
        Detaching.closeQuietly(new FileDescriptor(files.ledger()));
        Detaching.closeQuietly(new FileDescriptor(files.schedule()));
      }
      if (inbox != null) {
        inbox.close();
      }
      channel.close();
      claimed.completeExceptionally(new IOException(reason));
    }
  }
}
