// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import io.gpupool.agent.attach.Attachment;
import io.gpupool.agent.attach.ConnectionShares;
import io.gpupool.agent.attach.StreamGuards;
import io.gpupool.agent.attach.UserConnections;
import io.gpupool.agent.lease.AgentServices;
import io.gpupool.agent.lease.AttachRequest;
import io.gpupool.agent.lease.ImplicitLeases;
import io.gpupool.agent.lease.LeasePrograms;
import io.gpupool.agent.lease.PoolClients;
import io.gpupool.agent.lease.PoolCredentials;
import io.gpupool.agent.nvml.LeaseViews;
import io.gpupool.agent.options.AgentOptions;
import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.TokenText;
import io.gpupool.client.lease.HeldLease;
import io.gpupool.transport.Descriptors;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.metrics.ProcessMeters;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.OptionalDouble;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A running agent: the unix socket on which shims find it. Started and closed by any thread. */
public final class Agent implements AutoCloseable {
  static final int MAX_PROGRAMS = ConnectionShares.MOST_OF_ALL;

  /** The time in which programs that are killed together with the agent have ended. */
  private static final long NOTICE_MILLIS = 100;

  private static final Logger LOG = LoggerFactory.getLogger(Agent.class);

  private final UnixAddress address;
  private final PoolClients clients;
  private final LeasePrograms leasePrograms = new LeasePrograms();
  private final AgentServices services;
  private final LeaseViews views = new LeaseViews();
  private final ConnectionShares podConnections = ConnectionShares.ofPods();
  private final UserConnections userConnections = new UserConnections(System::nanoTime);
  private final StreamGuards guards = new StreamGuards();
  private final ChannelGroup programs = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private final EventLoopGroup loops;
  private final Channel server;
  private volatile boolean ends;

  private Agent(AgentOptions options, EventLoopGroup loops) throws IOException {
    this.loops = loops;
    address = options.socket();
    clients = new PoolClients(loops, options.security(), options.pool(), options.token());
    services =
        new AgentServices(options, clients, new ImplicitLeases(leasePrograms), leasePrograms);
    Descriptors.warmUp();
    if (!address.isAbstract()) {
      clear(Path.of(address.text()));
    }
    server = address.listen(loops, this::accept);
    if (!address.isAbstract()) {
      Files.setPosixFilePermissions(
          Path.of(address.text()),
          PosixFilePermissions.fromString(options.anyUser() ? "rw-rw-rw-" : "rw-------"));
    }
  }

  private void accept(EpollDomainSocketChannel channel) {
    if (programs.size() >= MAX_PROGRAMS + UserConnections.MOST_SILENT_OF_ALL) {
      LOG.warn("a program is turned away: there are {} connections", programs.size());
      channel.close();
      return;
    }
    programs.add(channel);
    channel
        .pipeline()
        .addLast(
            new TextMessageDecoder(),
            new Attachment(
                channel, services, views, podConnections, userConnections, guards, () -> ends));
  }

  /**
   * Opens the socket.
   *
   * @param loops must have one thread: a program's socket, its call stream and the pool's answers
   *     meet on it
   * @throws IOException if an agent is running there already, or the socket cannot be made
   */
  public static Agent start(AgentOptions options, EventLoopGroup loops) throws IOException {
    try {
      return new Agent(options, loops);
    } catch (RuntimeException e) {
      throw new IOException("cannot listen on " + options.socket() + ": " + e.getMessage(), e);
    }
  }

  /** Shows how the agent does from now on. */
  public void measure(ProcessMeters meters) {
    meters.add(loops);
    meters.gauge(
        "gpupool.agent.programs",
        "",
        "Connections of programs",
        () -> OptionalDouble.of(programs.size()));
  }

  /** A connection to the agent's pool that its programs share; closed with the agent. */
  public PoolClient connect(PoolAddress pool, @Nullable String token) {
    return clients.take(
        pool, PoolCredentials.toOwnPool(token == null ? null : new TokenText(token)));
  }

  /** Tells the programs of a lease that it has ended, which ends what they wait for. */
  public void leaseEnded(HeldLease lease, String reason) {
    loops.execute(() -> leasePrograms.ended(AttachRequest.LeaseHandle.of(lease), reason));
  }

  /**
   * Closes the socket, with which its file goes, and lets go of all programs. Sessions that can be
   * resumed go on, and so do programs of pods if they talk to their workers themselves; the other
   * sessions end. Leases that the agent holds for programs wait for the next agent if their
   * sessions go on, and else end.
   */
  @Override
  public void close() {
    noticeEnds();
    ends = true;
    server.close().awaitUninterruptibly();
    programs.close().awaitUninterruptibly();
    clients.close();
  }

  /** Lets the event loop see which programs have ended by now, so that their sessions end. */
  private void noticeEnds() {
    // It looks at all connections before it runs a task that was planned earlier.
    loops.schedule(() -> {}, NOTICE_MILLIS, TimeUnit.MILLISECONDS).awaitUninterruptibly();
  }

  /** Removes what a killed agent left behind, but not the socket of one that lives. */
  private static void clear(Path path) throws IOException {
    if (path.getParent() != null) {
      Files.createDirectories(path.getParent());
    }
    if (!Files.exists(path)) {
      return;
    }
    try {
      SocketChannel.open(UnixDomainSocketAddress.of(path)).close();
    } catch (ConnectException e) {
      Files.delete(path);
      return;
    }
    throw new IOException("an agent is running at " + path + " already");
  }
}
