// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.netty.channel.Channel;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The connections of a port, of which there are no more than a limit. One too many displaces the
 * oldest idle one of the address that has most of them, so that strangers who connect and say
 * nothing cannot keep others out. For any thread.
 */
public final class ConnectionTable {
  private static final int NETWORK_BYTES = 8;

  private final int limit;

  /** The connections that may be displaced, the oldest first, with their owners. */
  @GuardedBy("this")
  private final Map<Channel, Object> idle = new LinkedHashMap<>();

  @GuardedBy("this")
  private final Map<Channel, Object> busy = new HashMap<>();

  @GuardedBy("this")
  private final Map<Object, Integer> busyByOwner = new HashMap<>();

  public ConnectionTable(int limit) {
    this.limit = limit;
  }

  /** Takes in a new connection, which is idle, and closes another one where there are too many. */
  public void add(Channel channel) {
    Optional<Channel> displaced;
    synchronized (this) {
      idle.put(channel, owner(channel.remoteAddress()));
      displaced =
          idle.size() + busy.size() > limit ? Optional.of(mostDispensable()) : Optional.empty();
      displaced.ifPresent(idle::remove);
    }
    channel.closeFuture().addListener(closed -> remove(channel));
    displaced.ifPresent(Channel::close);
  }

  /**
   * From now on it is not displaced, unless half of all are busy ones of its address; false: it has
   * just been displaced.
   */
  public synchronized boolean setBusy(Channel channel) {
    if (busy.containsKey(channel)) {
      return true;
    }
    Object owner = idle.get(channel);
    if (owner == null) {
      return false;
    }
    if (busyByOwner.getOrDefault(owner, 0) < limit / 2) {
      idle.remove(channel);
      busy.put(channel, owner);
      busyByOwner.merge(owner, 1, Integer::sum);
    }
    return true;
  }

  /** Lets the connection be displaced again, after all others that are idle now. */
  public synchronized void setIdle(Channel channel) {
    Object owner = endBusy(channel);
    if (owner != null) {
      idle.put(channel, owner);
    }
  }

  private synchronized void remove(Channel channel) {
    idle.remove(channel);
    endBusy(channel);
  }

  @GuardedBy("this")
  private @Nullable Object endBusy(Channel channel) {
    Object owner = busy.remove(channel);
    if (owner != null) {
      busyByOwner.computeIfPresent(owner, (of, count) -> count == 1 ? null : count - 1);
    }
    return owner;
  }

  @GuardedBy("this")
  private Channel mostDispensable() {
    Map<Object, Integer> counts = new HashMap<>();
    idle.values().forEach(owner -> counts.merge(owner, 1, Integer::sum));
    int most = counts.values().stream().max(Integer::compare).orElseThrow();
    return idle.entrySet().stream()
        .filter(entry -> counts.getOrDefault(entry.getValue(), 0) == most)
        .findFirst()
        .orElseThrow()
        .getKey();
  }

  /** An address, or the network of an IPv6 one, of which one machine has as many as it likes. */
  private static Object owner(SocketAddress address) {
    if (!(address instanceof InetSocketAddress inet)) {
      return "";
    }
    InetAddress host = inet.getAddress();
    return host instanceof Inet6Address
        ? Arrays.hashCode(Arrays.copyOf(host.getAddress(), NETWORK_BYTES))
        : host;
  }
}
