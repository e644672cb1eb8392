// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import io.gpupool.e2e.CutPlan.Cut;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A TCP relay in front of a server's port that breaks its connections as a {@link CutPlan} says. It
 * listens on the server's port number at another loopback address, so that clients which reach the
 * server there send everything through it, and is a client at a third address.
 */
final class CutProxy implements AutoCloseable {
  /** Address of the proxies; the servers listen on 127.0.0.1. */
  static final String HOST = "127.0.0.2";

  private static final String SERVER = "127.0.0.1";
  private static final int BUFFER_BYTES = 64 << 10;

  /** Connections between workers are not resumed, so these faults do not befall them. */
  private static final boolean CUTS_PEERS = Boolean.getBoolean("gpupool.cuts.peers");

  private final int port;
  private final boolean hasFrames;
  private final Predicate<Cut> surroundings;
  private final Set<Link> links = ConcurrentHashMap.newKeySet();
  private final LongAdder toServer = new LongAdder();
  private volatile ServerSocket listener;
  private volatile CutPlan plan = CutPlan.none();
  private volatile String source = HOST;
  private volatile boolean losesRequests;
  private volatile boolean losesAnswers;

  private CutProxy(int port, boolean hasFrames, Predicate<Cut> surroundings) {
    this.port = port;
    this.hasFrames = hasFrames;
    this.surroundings = surroundings;
    listener = listen();
  }

  /** Relays to this port of the server, and breaks nothing. */
  static CutProxy start(int port) {
    return start(port, false, cut -> false);
  }

  /**
   * Relays to this port of the server.
   *
   * @param hasFrames whether the bytes are call streams in the clear
   * @param surroundings makes those faults that concern more than one connection, and says whether
   *     it has
   */
  static CutProxy start(int port, boolean hasFrames, Predicate<Cut> surroundings) {
    return new CutProxy(port, hasFrames, surroundings);
  }

  /** From now on breaks connections as this plan says. */
  void follow(CutPlan newPlan) {
    plan = newPlan;
  }

  /** From now on is a client at this address; all connections are gone. */
  void moveTo(String address) {
    source = address;
    links.forEach(Link::reset);
  }

  /** From now on takes bytes of these directions and does not pass them on. */
  void swallow(boolean toServer, boolean fromServer) {
    losesRequests = toServer;
    losesAnswers = fromServer;
  }

  /** Returns how many bytes it has passed on to the server so far. */
  long bytesToServer() {
    return toServer.sum();
  }

  /** Breaks all connections. */
  void reset() {
    links.forEach(Link::reset);
  }

  /** Dies; connections are refused until it lives again. */
  void die() {
    closeQuietly(listener);
    links.forEach(Link::reset);
  }

  /** Lives again. */
  void revive() {
    listener = listen();
  }

  private ServerSocket listen() {
    try {
      ServerSocket made = new ServerSocket(port, 1024, InetAddress.getByName(HOST));
      Thread.ofPlatform().daemon().name("cut-proxy").start(() -> accept(made));
      return made;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void accept(ServerSocket from) {
    try {
      while (true) {
        Link link = new Link(from.accept());
        links.add(link);
        if (from.isClosed()) {
          link.reset();
        }
        Thread.ofPlatform().daemon().start(link::begin);
      }
    } catch (IOException e) {
      // The proxy is closed.
    }
  }

  /** One connection of a client. */
  private final class Link {
    private final Socket client;
    private final Socket server = new Socket();
    private final FrameTrack requests = new FrameTrack(true);
    private final FrameTrack answers = new FrameTrack(false);

    /** A fault that waits until a frame has come in part. */
    private volatile @Nullable Cut due;

    Link(Socket client) {
      this.client = client;
    }

    void begin() {
      try {
        client.setTcpNoDelay(true);
        server.setTcpNoDelay(true);
        server.bind(new InetSocketAddress(source, 0));
        server.connect(new InetSocketAddress(SERVER, port));
        Thread.ofPlatform().daemon().start(() -> pump(client, server, requests));
        pump(server, client, answers);
      } catch (IOException e) {
        close();
      }
    }

    private void pump(Socket from, Socket to, FrameTrack track) {
      byte[] buffer = new byte[BUFFER_BYTES];
      try {
        InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream();
        for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
          relay(buffer, count, out, track);
        }
        close();
      } catch (IOException e) {
        close();
      }
    }

    private void relay(byte[] buffer, int count, OutputStream out, FrameTrack track)
        throws IOException {
      if (requests.isOfPeers() && !CUTS_PEERS) {
        write(out, buffer, 0, count, track);
        return;
      }
      int begin = 0;
      while (begin < count) {
        CutPlan.Step step = plan.forward(count - begin);
        int bytes = step.bytes();
        if (step.cut() != null) {
          due = step.cut();
        }
        if (due != null && hasFrames && isFor(track, due)) {
          // One byte more than a whole frame is a part of the next.
          bytes = Math.min(bytes + 1, count - begin);
        }
        write(out, buffer, begin, bytes, track);
        if (hasFrames) {
          track.pass(buffer, begin, bytes);
        }
        begin += bytes;
        Cut cut = due;
        if (cut != null && (!hasFrames || isReady(track, cut))) {
          due = null;
          CutPlan followed = plan;
          if (make(cut)) {
            followed.made();
          } else {
            due = cut;
          }
        }
      }
    }

    private void write(OutputStream out, byte[] buffer, int begin, int bytes, FrameTrack track)
        throws IOException {
      if (track == requests ? !losesRequests : !losesAnswers) {
        out.write(buffer, begin, bytes);
        if (track == requests) {
          toServer.add(bytes);
        }
      }
    }

    private boolean isFor(FrameTrack track, Cut cut) {
      return cut.fault() == (track == requests ? Fault.WITHIN_REQUEST : Fault.WITHIN_ANSWER);
    }

    private boolean isReady(FrameTrack track, Cut cut) {
      boolean within = cut.fault() == Fault.WITHIN_REQUEST || cut.fault() == Fault.WITHIN_ANSWER;
      return !within || isFor(track, cut) && track.isWithinFrame();
    }

    private boolean make(Cut cut) {
      switch (cut.fault()) {
        case RESET, WITHIN_REQUEST, WITHIN_ANSWER -> reset();
        case CLOSE -> close();
        case HALF_OPEN, SILENCE, RELAY_KILLED, ADDRESS_CHANGED, AGENT_KILLED -> {
          return surroundings.test(cut);
        }
      }
      return true;
    }

    private void reset() {
      try {
        client.setSoLinger(true, 0);
        server.setSoLinger(true, 0);
      } catch (IOException e) {
        // It is closed already, or not connected yet.
      }
      close();
    }

    private void close() {
      links.remove(this);
      closeQuietly(client);
      closeQuietly(server);
    }
  }

  private static void closeQuietly(Closeable socket) {
    try {
      socket.close();
    } catch (IOException e) {
      // It is closed already.
    }
  }

  @Override
  public void close() {
    die();
  }
}
