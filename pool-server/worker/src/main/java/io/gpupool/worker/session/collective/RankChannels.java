// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.collective.ChannelException;
import io.gpupool.worker.collective.Channels;
import io.gpupool.worker.collective.ConnectedSocket;
import io.gpupool.worker.collective.Inlet;
import io.gpupool.worker.collective.Outlet;
import io.gpupool.worker.collective.PendingSends;
import io.gpupool.worker.collective.SocketInlet;
import io.gpupool.worker.collective.SocketOutlet;
import io.gpupool.worker.os.Posix;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The channels of one rank: within the process to ranks of the same session, and otherwise by
 * sockets that the pool connects when they are first used, each by the rank that sends. The rank's
 * thread uses them; sockets come, and everything may be closed, in any thread.
 */
final class RankChannels implements Channels {
  /** How long a connection between two ranks that are both there may take. */
  private static final int CONNECTION_SECONDS = 60;

  private final RankName name;
  private final LocalCommunicators.Local local;

  /** To ranks of the same session. */
  private final Channels beside;

  private final RankDirectory directory;
  private final PendingSends pending = new PendingSends();

  @GuardedBy("this")
  private final Map<Integer, CompletableFuture<Outlet>> outlets = new HashMap<>();

  @GuardedBy("this")
  private final Map<Integer, CompletableFuture<Inlet>> inlets = new HashMap<>();

  /** Why they are closed; null: they are not. */
  @GuardedBy("this")
  private @Nullable String closed;

  /**
   * The channels of a rank.
   *
   * @param gpu does work of the rank's GPU on the thread that calls it
   */
  RankChannels(
      RankName name, LocalCommunicators.Local local, RankDirectory directory, Executor gpu) {
    this.name = name;
    this.local = local;
    beside = local.channels.of(name.rank(), gpu);
    this.directory = directory;
  }

  @Override
  public Outlet to(int rank) throws ChannelException {
    if (local.contains(rank)) {
      return beside.to(rank);
    }
    CompletableFuture<Outlet> outlet;
    boolean isNew;
    synchronized (this) {
      requireOpen();
      isNew = !outlets.containsKey(rank);
      outlet = outlets.computeIfAbsent(rank, _ -> new CompletableFuture<>());
    }
    if (isNew) {
      directory.connect(name, rank);
    }
    return await(outlet, rank);
  }

  @Override
  public Inlet from(int rank) throws ChannelException {
    if (local.contains(rank)) {
      return beside.from(rank);
    }
    CompletableFuture<Inlet> inlet;
    synchronized (this) {
      requireOpen();
      inlet = inlets.computeIfAbsent(rank, _ -> new CompletableFuture<>());
    }
    return await(inlet, rank);
  }

  private <T> T await(CompletableFuture<T> channel, int rank) throws ChannelException {
    if (!channel.isDone()) {
      pending.leave();
    }
    try {
      return channel.get(CONNECTION_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new ChannelException(String.valueOf(Objects.requireNonNull(e.getCause()).getMessage()));
    } catch (TimeoutException e) {
      throw new ChannelException(
          "rank " + rank + " did not connect within " + CONNECTION_SECONDS + " s");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ChannelException("the rank's thread was interrupted");
    }
  }

  @Override
  public PendingSends pending() {
    return pending;
  }

  @GuardedBy("this")
  private void requireOpen() throws ChannelException {
    if (closed != null) {
      throw new ChannelException(closed);
    }
  }

  /** Takes the socket by which this rank sends to another. */
  synchronized void connected(int to, int socket) {
    CompletableFuture<Outlet> outlet = outlets.get(to);
    if (closed != null || outlet == null || outlet.isDone()) {
      Posix.close(socket);
    } else {
      outlet.complete(new SocketOutlet(new ConnectedSocket(socket), pending));
    }
  }

  /** There will be none. */
  synchronized void unconnected(int to, String reason) {
    CompletableFuture<Outlet> outlet = outlets.get(to);
    if (outlet != null) {
      outlet.completeExceptionally(
          new ChannelException("no connection to rank " + to + ": " + reason));
    }
  }

  /** Takes the socket by which another rank sends to this one. */
  synchronized void connection(int from, int socket) {
    CompletableFuture<Inlet> inlet = inlets.computeIfAbsent(from, _ -> new CompletableFuture<>());
    if (closed != null || inlet.isDone()) {
      Posix.close(socket);
    } else {
      inlet.complete(new SocketInlet(new ConnectedSocket(socket), pending));
    }
  }

  @Override
  public void close() {
    close("the channels of rank " + name.rank() + " are closed");
  }

  /** Closes all: whoever waits for one of them, or for this rank, is told the reason. */
  synchronized void close(String reason) {
    if (closed != null) {
      return;
    }
    closed = reason;
    local.channels.close(name.rank());
    ChannelException failure = new ChannelException(reason);
    for (CompletableFuture<Outlet> outlet : outlets.values()) {
      if (!outlet.completeExceptionally(failure) && !outlet.isCompletedExceptionally()) {
        outlet.join().close();
      }
    }
    for (CompletableFuture<Inlet> inlet : inlets.values()) {
      if (!inlet.completeExceptionally(failure) && !inlet.isCompletedExceptionally()) {
        inlet.join().close();
      }
    }
  }
}
