// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.Posix;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * The connections of one session to its other workers. What is sent before a connection is there
 * waits for it. Any thread may use it.
 */
public final class PeerConnections {
  /** As many links as a program's session can have. */
  public static final int MAX_LINKS = 16;

  /** Has a connection made, which comes by {@link #connected} or {@link #refused}. */
  public interface Dialer {
    void dial(int link, PeerAddress peer);
  }

  private final Dialer dialer;
  private final LongAdder receivedBytes = new LongAdder();
  private final LongAdder sentBytes = new LongAdder();

  /** The connections of all links but this worker's own, once they are known. */
  @GuardedBy("this")
  private final List<PeerConnection> connections = new ArrayList<>();

  /** Descriptors that came before that. */
  @GuardedBy("this")
  private final Map<Integer, Integer> early = new HashMap<>();

  @GuardedBy("this")
  private final Map<Integer, String> earlyRefusals = new HashMap<>();

  @GuardedBy("this")
  private int own = -1;

  public PeerConnections(Dialer dialer) {
    this.dialer = dialer;
  }

  /** For sessions that are alone. */
  public static PeerConnections none() {
    return new PeerConnections((link, peer) -> {});
  }

  /**
   * Says who the others are; of two workers, the one with the higher link dials.
   *
   * @return false if that has been said before
   */
  public synchronized boolean introduce(int ownLink, List<PeerAddress> all, PeerListener listener) {
    if (own >= 0) {
      return false;
    }
    own = ownLink;
    for (int link = 0; link < all.size(); link++) {
      connections.add(new PeerConnection(link, listener, receivedBytes, sentBytes));
    }
    early.forEach((link, fd) -> connect(link, fd));
    earlyRefusals.forEach(this::refused);
    for (int link = 0; link < own; link++) {
      dialer.dial(link, all.get(link));
    }
    return true;
  }

  /** A connected stream socket to a link's worker is there; it is this object's to close. */
  public synchronized void connected(int link, int fd) {
    if (own < 0 && link >= 0 && link < MAX_LINKS && !early.containsKey(link)) {
      early.put(link, fd);
    } else {
      connect(link, fd);
    }
  }

  /** A link's worker cannot be reached. */
  public synchronized void refused(int link, String why) {
    if (own < 0) {
      earlyRefusals.put(link, why);
    } else if (isPeer(link)) {
      connections.get(link).refuse(why);
    }
  }

  /** This worker's own link; -1 as long as the session is alone. */
  public synchronized int own() {
    return own;
  }

  public synchronized boolean isPeer(int link) {
    return link >= 0 && link < connections.size() && link != own;
  }

  public void sendTicket(int link, long ticket) {
    connection(link).post(PeerFrames.TICKET, 0, ticket);
  }

  /** Asks for bytes that this worker was allowed to read. */
  public void pull(int link, long ticket, long lengthBytes) {
    connection(link).post(PeerFrames.PULL, 0, ticket, lengthBytes);
  }

  /** Sends bytes that were asked for, and waits until they have left; by {@link #serve} alone. */
  public void sendPiece(int link, long ticket, long offset, long address, int lengthBytes) {
    connection(link).sendPiece(ticket, offset, address, lengthBytes);
  }

  public void endPull(int link, long ticket, int result) {
    connection(link).post(PeerFrames.END, result, ticket);
  }

  /** Runs something that sends pieces, in the connection's own thread, one after the other. */
  public void serve(int link, Runnable task) {
    connection(link).serve(task);
  }

  public long receivedBytes() {
    return receivedBytes.sum();
  }

  public long sentBytes() {
    return sentBytes.sum();
  }

  /** Ends all connections; nothing is heard of them any more. */
  public synchronized void close() {
    connections.forEach(PeerConnection::close);
    early.values().forEach(Posix::close);
    early.clear();
  }

  private void connect(int link, int fd) {
    if (!isPeer(link) || !connection(link).connect(fd)) {
      Posix.close(fd);
    }
  }

  private synchronized PeerConnection connection(int link) {
    return connections.get(link);
  }
}
