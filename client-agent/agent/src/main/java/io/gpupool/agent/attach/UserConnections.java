// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.runtime.ProcessInfo;
import io.netty.channel.Channel;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections of programs by user, on a machine that is no node of Kubernetes. One that has
 * asked for nothing yet can be displaced by a later one, of the same user where that has many; so a
 * program that asks at once is heard, whoever else holds connections open. Runs on the agent's
 * event loop.
 */
public final class UserConnections {
  /** The most connections of one user that have asked for nothing. */
  static final int MOST_SILENT = 64;

  /** The most such connections of all users together. */
  public static final int MOST_SILENT_OF_ALL = 1024;

  private static final long LOG_PAUSE_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final int MOST_LOGGED = 1024;
  private static final Logger LOG = LoggerFactory.getLogger(UserConnections.class);

  /** The other end of a unix socket when it connected. */
  record Peer(int uid, int pid) {
    @Override
    public String toString() {
      return "user %s, process %d".formatted(ProcessInfo.user(uid), pid);
    }
  }

  private final ConnectionShares shares = ConnectionShares.ofUsers();
  private final Map<Channel, Peer> silent = new LinkedHashMap<>();
  private final Map<Integer, Long> loggedAtNanos = new HashMap<>();
  private final LongSupplier clock;

  /** Counts no connection yet; {@code clock} gives nanoseconds. */
  public UserConnections(LongSupplier clock) {
    this.clock = clock;
  }

  /** A connection that has asked for nothing yet. */
  void enter(Channel channel, Peer peer) {
    silent.put(channel, peer);
    channel.closeFuture().addListener(closed -> silent.remove(channel));
    long ofUser = silent.values().stream().filter(other -> other.uid() == peer.uid()).count();
    if (ofUser > MOST_SILENT) {
      warn(peer, "{} has {} connections that ask for nothing: the oldest are closed", MOST_SILENT);
      displace(peer.uid());
    } else if (silent.size() > MOST_SILENT_OF_ALL) {
      Peer oldest = silent.values().iterator().next();
      warn(
          oldest,
          "{} has the oldest of {} connections that ask for nothing: it is closed",
          MOST_SILENT_OF_ALL);
      displace(oldest.uid());
    }
  }

  private void displace(int uid) {
    silent.entrySet().stream()
        .filter(entry -> entry.getValue().uid() == uid)
        .findFirst()
        .map(Map.Entry::getKey)
        .ifPresent(oldest -> {
          silent.remove(oldest);
          oldest.close();
        });
  }

  /**
   * A connection has asked, and may stay.
   *
   * @throws PoolRequestException if its user has too many that have asked
   */
  void ask(Channel channel) {
    Peer peer = silent.remove(channel);
    if (peer == null) {
      throw new PoolRequestException(
          PoolRequestException.Cause.REFUSED, "others have asked sooner; try again");
    }
    String user = Integer.toUnsignedString(peer.uid());
    try {
      shares.enter(user);
    } catch (PoolRequestException e) {
      warn(peer, "{} is refused: the limit is {} connections", ConnectionShares.MOST);
      throw e;
    }
    channel.closeFuture().addListener(closed -> shares.leave(user));
  }

  /** Logs once a minute for each user, so that nobody can fill the log either. */
  private void warn(Peer peer, String line, int limit) {
    long nowNanos = clock.getAsLong();
    loggedAtNanos.values().removeIf(atNanos -> nowNanos - atNanos >= LOG_PAUSE_NANOS);
    if (loggedAtNanos.size() < MOST_LOGGED
        && loggedAtNanos.putIfAbsent(peer.uid(), nowNanos) == null) {
      LOG.warn(line, peer, limit);
    }
  }
}
