// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.gpupool.worker.assignment.AssignedSession;
import io.gpupool.worker.assignment.Assignment;
import io.gpupool.worker.connection.ClearConnection;
import io.gpupool.worker.connection.ProgramConnection;
import io.gpupool.worker.control.CacheLink;
import io.gpupool.worker.control.ControlLink;
import io.gpupool.worker.control.ServerExchange;
import io.gpupool.worker.control.ServerRanks;
import io.gpupool.worker.move.MoveSource;
import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.os.UnixSocket;
import io.gpupool.worker.peer.PeerAddress;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.rings.SharedConnection;
import io.gpupool.worker.seal.SealedConnection;
import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** The messages that the pool-server sends to a worker. Handled by the control thread. */
final class ControlMessages {
  private final ControlLink control;
  private final AssignedSession session;
  private final ServerExchange exchange;
  private final ServerRanks ranks;
  private final CacheLink cache;
  private final Takeover takeover;

  /** Whether the server has said that the process is to end. */
  private boolean ended;

  ControlMessages(
      ControlLink control,
      AssignedSession session,
      ServerExchange exchange,
      ServerRanks ranks,
      CacheLink cache,
      Takeover takeover) {
    this.control = control;
    this.session = session;
    this.exchange = exchange;
    this.ranks = ranks;
    this.cache = cache;
    this.takeover = takeover;
  }

  /** Handles messages until no server is there, and none will be. */
  void handleAll() throws IOException, WireException {
    do {
      try {
        handleUntilClosed();
      } catch (IOException | WireException | IllegalArgumentException e) {
        // Of a server that does not speak as one does.
        if (!takeover.isPrepared()) {
          throw e;
        }
        takeover.giveUpServer(e.getMessage());
      }
    } while (!ended && takeover.awaitServer());
  }

  private void handleUntilClosed() throws IOException, WireException {
    try {
      for (Optional<TextMessage> message = control.receive();
          message.isPresent();
          message = control.receive()) {
        if (message.get().type().equals("end")) {
          ended = true;
          return;
        }
        handle(message.get());
      }
    } catch (EOFException e) {
      // The server has gone in the middle of a message.
    }
  }

  private void handle(TextMessage message) throws IOException, WireException {
    switch (message.type()) {
      case "assign" -> assign(message);
      case "attach" -> {
        session.attach(connection(message));
        takeover.prepare();
      }
      case "restore" -> session.restore(descriptor());
      case "restored" -> {
        session.restored();
        takeover.prepare();
      }
      case "move" -> session.move(message.require("move"), descriptor(), manner(message));
      case "moveEnd" ->
          session.moveEnd(message.require("move"), message.requireNumber("gone", 1) == 1);
      case "peer" -> peer(message);
      case "rank" -> ranks.answered(message, isConnection(message) ? descriptor() : null);
      case "shared" -> exchange.answered(message, announcedDescriptor(message));
      case "cached" -> cache.answered(message, announcedDescriptor(message));
      case "released" -> exchange.released(message);
      default -> throw new WireException("unknown message '" + message.type() + "'");
    }
  }

  private static boolean isConnection(TextMessage message) {
    String what = message.get("what").orElse("");
    return what.equals("connected") || what.equals("connection");
  }

  private static MoveSource.Manner manner(TextMessage message) throws WireException {
    String saved = message.get("saved").orElse("");
    return switch (saved) {
      case "" -> MoveSource.Manner.MOVE;
      case "running" -> MoveSource.Manner.SAVE;
      case "paused" -> MoveSource.Manner.SAVE_AT_ONCE;
      default -> throw new WireException("a session to be saved while it is " + saved);
    };
  }

  /** Returns the call stream that an attach hands over. */
  private ProgramConnection connection(TextMessage message) throws IOException, WireException {
    int stream = descriptor();
    Optional<String> secret = message.get("secret");
    if (message.get("local").isPresent()) {
      return SharedConnection.open(stream);
    }
    if (secret.isEmpty()) {
      return new ClearConnection(stream);
    }
    try {
      return new SealedConnection(stream, HexFormat.of().parseHex(secret.get()));
    } catch (IllegalArgumentException e) {
      throw new WireException("an attach with a secret that is none");
    }
  }

  private void assign(TextMessage message) throws IOException, WireException {
    List<ServerFile> files = new ArrayList<>();
    for (int i = Assignment.descriptors(message); i > 0; i--) {
      files.add(new ServerFile(descriptor()));
    }
    if (message.get("inbox").isPresent()) {
      control.handOverBy(new UnixSocket(descriptor()));
    }
    session.assign(Assignment.of(message, files));
    takeover.assigned();
  }

  private void peer(TextMessage message) throws IOException, WireException {
    int link = (int) message.requireNumber("link", PeerConnections.MAX_LINKS - 1);
    Optional<String> refused = message.get("error");
    if (refused.isPresent()) {
      session.peerRefused(link, refused.get(), message.get("again").isPresent());
    } else {
      session.peer(link, descriptor(), random(message));
    }
  }

  private static byte[] random(TextMessage message) throws WireException {
    try {
      byte[] random = HexFormat.of().parseHex(message.get("random").orElse(""));
      if (random.length == PeerAddress.RANDOM_BYTES) {
        return random;
      }
    } catch (IllegalArgumentException e) {
      // As if it were of another length.
    }
    throw new WireException(
        "a connection to another worker without " + PeerAddress.RANDOM_BYTES + " random bytes");
  }

  /** Receives a descriptor that a message announces, if it announces one. */
  private @Nullable Integer announcedDescriptor(TextMessage message) throws IOException {
    if (message.get("descriptor").isEmpty()) {
      return null;
    }
    OptionalInt descriptor = control.receiveDescriptor();
    return descriptor.isPresent() ? descriptor.getAsInt() : null;
  }

  private int descriptor() throws IOException {
    OptionalInt descriptor = control.receiveDescriptor();
    if (descriptor.isEmpty()) {
      throw new EOFException("the control connection is closed");
    }
    return descriptor.getAsInt();
  }
}
