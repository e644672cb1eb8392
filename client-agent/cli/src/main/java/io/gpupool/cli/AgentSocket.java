// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.client.lease.HeldLease;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.transport.UnixAddress;
import io.gpupool.wire.TextMessage;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The socket of an agent, to be created or to be found. */
public final class AgentSocket {
  private static final Path RUN = Path.of("/run");

  /** The folder of a machine's agent, and of the sockets of its servers. */
  public static final Path SYSTEM_FOLDER = RUN.resolve("gpupool");

  private static final Path SYSTEM = SYSTEM_FOLDER.resolve("agent.sock");
  private static final String NAME = "gpupool/agent.sock";
  private static final long ANSWER_SECONDS = 15;

  private AgentSocket() {}

  /** Returns the address at which an agent listens by default. */
  public static UnixAddress toCreate() {
    boolean system = Files.isWritable(Files.isDirectory(SYSTEM_FOLDER) ? SYSTEM_FOLDER : RUN);
    Optional<Path> own = ownPath();
    if (!system && own.isEmpty()) {
      throw new IllegalArgumentException(
          SYSTEM_FOLDER
              + " is not writable and XDG_RUNTIME_DIR is not set; name a socket with --socket");
    }
    return new UnixAddress((system ? SYSTEM : own.orElseThrow()).toString());
  }

  /** Finds an agent's address: the environment's, else one of the usual places. */
  public static Optional<UnixAddress> toFind() {
    return Environment.variable("GPUPOOL_AGENT")
        .map(UnixAddress::new)
        .or(() ->
            Optional.of(SYSTEM)
                .filter(Files::exists)
                .or(() -> ownPath().filter(Files::exists))
                .map(path -> new UnixAddress(path.toString())));
  }

  /**
   * Returns the agent's status; empty if none listens there, or one that serves only the pods of a
   * node of Kubernetes.
   *
   * @throws PoolRequestException if one listens and does not answer: to go on without it would be
   *     to use GPUs that were not meant
   */
  public static Optional<TextMessage> status(UnixAddress address, EventLoopGroup loops) {
    CompletableFuture<TextMessage> status = new CompletableFuture<>();
    Channel channel =
        new Bootstrap()
            .group(loops)
            .channel(EpollDomainSocketChannel.class)
            .handler(
                new ChannelInitializer<EpollDomainSocketChannel>() {
                  @Override
                  protected void initChannel(EpollDomainSocketChannel made) {
                    made.pipeline().addLast(new TextMessageDecoder(), new Answer(status));
                  }
                })
            .connect(address.socketAddress())
            .addListener(connected -> {
              if (!connected.isSuccess()) {
                status.completeExceptionally(connected.cause());
              }
            })
            .channel();
    try {
      return Optional.of(status.get(ANSWER_SECONDS, TimeUnit.SECONDS))
          .filter(answer -> answer.type().equals("status"))
          .filter(answer -> !answer.get("serves").equals(Optional.of("pods")));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    } catch (ExecutionException e) {
      return Optional.empty();
    } catch (TimeoutException e) {
      throw silent(address, "has not answered for " + ANSWER_SECONDS + " s");
    } catch (CancellationException e) {
      throw silent(address, "has closed the connection without an answer");
    } finally {
      channel.close();
    }
  }

  /** Tells the agent that a lease has ended; the agent may be gone, and its programs with it. */
  public static void tellEnded(
      UnixAddress address, HeldLease lease, String reason, EventLoopGroup loops) {
    TextMessage message =
        TextMessage.ofType("ended").put("lease", lease.ticket()).put("message", reason).build();
    new Bootstrap()
        .group(loops)
        .channel(EpollDomainSocketChannel.class)
        .handler(new ChannelInboundHandlerAdapter())
        .connect(address.socketAddress())
        .addListener((ChannelFuture connected) -> {
          if (connected.isSuccess()) {
            connected
                .channel()
                .writeAndFlush(TextMessageDecoder.encode(message))
                .addListener(ChannelFutureListener.CLOSE);
          }
        });
  }

  private static PoolRequestException silent(UnixAddress address, String what) {
    return new PoolRequestException(
        PoolRequestException.Cause.UNREACHABLE,
        "the agent at " + address + " " + what + "; restart it, or name a pool with --pool");
  }

  private static Optional<Path> ownPath() {
    return Environment.variable("XDG_RUNTIME_DIR").map(folder -> Path.of(folder, NAME));
  }

  private static final class Answer extends SimpleChannelInboundHandler<TextMessage> {
    private final CompletableFuture<TextMessage> status;

    Answer(CompletableFuture<TextMessage> status) {
      this.status = status;
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
      context.writeAndFlush(TextMessageDecoder.encode(TextMessage.ofType("status").build()));
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, TextMessage answer) {
      status.complete(answer);
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      status.cancel(false);
    }

    /** Treats a closed connection or a malformed answer as no answer. */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      status.cancel(false);
    }
  }
}
