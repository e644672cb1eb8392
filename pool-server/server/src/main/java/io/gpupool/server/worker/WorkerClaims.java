// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.server.takeover.RunDirectory;
import io.gpupool.server.takeover.WorkerRecord;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.transport.UnixAddress;
import io.gpupool.wire.SessionId;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** The claims of a server that starts to the workers that its former process has left. */
public final class WorkerClaims {
  /** How long a worker has to answer and to repeat what it shares. */
  private static final long LIMIT_SECONDS = 10;

  private final RunDirectory run;
  private final WorkerPool workers;
  private final EventLoopGroup loops;
  private final Executor control;

  public WorkerClaims(
      RunDirectory run, WorkerPool workers, EventLoopGroup loops, Executor control) {
    this.run = run;
    this.workers = workers;
    this.loops = loops;
    this.control = control;
  }

  /**
   * Claims a worker. For any thread.
   *
   * @return completes on the control thread; fails with a message for people if the worker cannot
   *     be claimed, which is still to be killed then
   */
  public CompletableFuture<ClaimedWorker> claim(WorkerRecord record, SessionId session) {
    CompletableFuture<ClaimedWorker> claimed = new CompletableFuture<>();
    control.execute(() -> {
      try {
        claim(record, session, workers.takeOver(record), claimed);
      } catch (IllegalArgumentException e) {
        claimed.completeExceptionally(new IOException(e.getMessage()));
      }
    });
    return claimed;
  }

  private void claim(
      WorkerRecord record,
      SessionId session,
      Worker worker,
      CompletableFuture<ClaimedWorker> claimed) {
    new Bootstrap()
        .group(loops)
        .channel(EpollDomainSocketChannel.class)
        .handler(
            new ChannelInitializer<EpollDomainSocketChannel>() {
              @Override
              protected void initChannel(EpollDomainSocketChannel channel) {
                WorkerClaim claim =
                    new WorkerClaim(channel, control, record, session.toString(), worker, claimed);
                channel.pipeline().addLast(new TextMessageDecoder(), claim);
                channel
                    .eventLoop()
                    .schedule(
                        () ->
                            control.execute(
                                () -> claim.fail("no answer within " + LIMIT_SECONDS + " s")),
                        LIMIT_SECONDS,
                        TimeUnit.SECONDS);
              }
            })
        .connect(new UnixAddress(run.socket(record.socket())).socketAddress())
        .addListener(done -> {
          if (done.cause() != null) {
            control.execute(() ->
                claimed.completeExceptionally(
                    new IOException("it does not listen: " + done.cause().getMessage())));
          }
        });
  }
}
