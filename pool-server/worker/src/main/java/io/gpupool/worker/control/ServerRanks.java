// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.collective.RankDirectory;
import io.gpupool.worker.session.collective.RankName;
import java.io.IOException;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The directory of ranks that the pool-server keeps. Any thread asks; the control thread brings the
 * answers.
 */
public final class ServerRanks implements RankDirectory {
  private static final int MAX_RANKS = 4096;

  private final ControlLink control;
  private final Map<RankName, Listener> listeners = new ConcurrentHashMap<>();

  public ServerRanks(ControlLink control) {
    this.control = control;
  }

  @Override
  public void join(RankName name, int ranks, byte @Nullable [] uniqueId, Listener listener) {
    if (listeners.putIfAbsent(name, listener) != null) {
      listener.refused("the rank is there already");
      return;
    }
    String id = uniqueId == null ? null : HexFormat.of().formatHex(uniqueId);
    send(request("join", name).put("ranks", ranks).putIfPresent("id", id), listener);
  }

  @Override
  public void leave(RankName name, boolean lost) {
    Listener listener = listeners.remove(name);
    if (listener != null) {
      send(request("leave", name).putIfPresent("lost", lost ? "1" : null), null);
    }
  }

  @Override
  public void connect(RankName name, int to) {
    send(request("connect", name).put("to", to), listeners.get(name));
  }

  private static TextMessage.Builder request(String what, RankName name) {
    return TextMessage.ofType("rank")
        .put("what", what)
        .put("communicator", name.communicator())
        .put("rank", name.rank());
  }

  private void send(TextMessage.Builder message, @Nullable Listener listener) {
    try {
      control.send(message.build());
    } catch (IOException e) {
      if (listener != null) {
        listener.refused("the pool-server has gone");
      }
    }
  }

  /**
   * Brings a message of type {@code rank}, by the control thread.
   *
   * @param socket what came with it
   */
  public void answered(TextMessage message, @Nullable Integer socket) throws WireException {
    RankName name =
        new RankName(
            message.require("communicator"), (int) message.requireNumber("rank", MAX_RANKS - 1));
    Listener listener = listeners.get(name);
    if (listener == null) {
      // It has left.
      if (socket != null) {
        Posix.close(socket);
      }
      return;
    }
    String reason = message.get("reason").orElse("");
    switch (message.require("what")) {
      case "complete" -> listener.complete(uniqueId(message));
      case "refused" -> listener.refused(reason);
      case "lost" -> listener.lost(number(message, "lost"), reason);
      case "unconnected" -> listener.unconnected(number(message, "to"), reason);
      case "connected" -> listener.connected(number(message, "to"), required(socket));
      case "connection" -> listener.connection(number(message, "from"), required(socket));
      default -> throw new WireException("an unknown message about a rank");
    }
  }

  private static byte @Nullable [] uniqueId(TextMessage message) throws WireException {
    String id = message.get("id").orElse(null);
    try {
      return id == null ? null : HexFormat.of().parseHex(id);
    } catch (IllegalArgumentException e) {
      throw new WireException("the id of a communicator is not in hexadecimal");
    }
  }

  private static int number(TextMessage message, String key) throws WireException {
    return (int) message.requireNumber(key, MAX_RANKS - 1);
  }

  private static int required(@Nullable Integer socket) throws WireException {
    if (socket == null) {
      throw new WireException("a connection of ranks without a socket");
    }
    return socket;
  }
}
