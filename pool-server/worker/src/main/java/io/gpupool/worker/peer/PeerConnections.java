// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.Posix;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The connections of one session to its other workers. What is sent before a connection is there
 * waits for it. Any thread may use it.
 */
public final class PeerConnections {
  /** As many links as a program's session can have. */
  public static final int MAX_LINKS = 16;

  private record Early(int fd, byte[] random) {}

  /** Has a connection made, which comes by {@link #connected} or {@link #refused}. */
  public interface Dialer {
    void dial(int link, PeerAddress peer);
  }

  private final Dialer dialer;
  private final LongAdder receivedBytes = new LongAdder();
  private final LongAdder sentBytes = new LongAdder();

  /** The connections of all links, once they are known; null: this worker's own. */
  @GuardedBy("this")
  private final List<@Nullable PeerConnection> connections = new ArrayList<>();

  /** The latest of each link that came before that. */
  @GuardedBy("this")
  private final Map<Integer, Early> early = new HashMap<>();

  @GuardedBy("this")
  private final Map<Integer, String> earlyRefusals = new HashMap<>();

  @GuardedBy("this")
  private long windowMillis;

  @GuardedBy("this")
  private int own = -1;

  public PeerConnections(Dialer dialer) {
    this.dialer = dialer;
  }

  /** For sessions that are alone. */
  public static PeerConnections none() {
    return new PeerConnections((link, peer) -> {});
  }

  /** Has connections resumed for so long after they are lost; before the others are known. */
  public synchronized void outlive(long resumeWindowMillis) {
    windowMillis = resumeWindowMillis;
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
      int to = link;
      Runnable dial = link < own ? () -> dialer.dial(to, all.get(to)) : null;
      connections.add(
          link == own
              ? null
              : new PeerConnection(link, dial, windowMillis, listener, receivedBytes, sentBytes));
    }
    early.forEach((link, came) -> connect(link, came.fd, came.random));
    early.clear();
    earlyRefusals.forEach((link, why) -> refused(link, why, false));
    for (int link = 0; link < own; link++) {
      dialer.dial(link, all.get(link));
    }
    return true;
  }

  /**
   * A connected stream socket to a link's worker is there; it is this object's to close.
   *
   * @param random {@link PeerAddress#RANDOM_BYTES} that nobody knows, for its beginning
   */
  public synchronized void connected(int link, int fd, byte[] random) {
    if (own >= 0 || link < 0 || link >= MAX_LINKS) {
      connect(link, fd, random);
      return;
    }
    Early former = early.put(link, new Early(fd, random));
    if (former != null) {
      Posix.close(former.fd);
    }
  }

  /**
   * A link's worker cannot be reached.
   *
   * @param again whether it may be reached later
   */
  public synchronized void refused(int link, String why, boolean again) {
    if (own < 0) {
      earlyRefusals.put(link, why);
    } else if (isPeer(link)) {
      connection(link).refuse(why, again);
    }
  }

  /** Looks at the connections, about once a second. */
  public void watch() {
    peers().forEach(PeerConnection::watch);
  }

  private synchronized List<PeerConnection> peers() {
    return connections.stream().filter(Objects::nonNull).toList();
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

  /**
   * Sends bytes that were asked for, which may change afterwards; by {@link #serve} alone.
   *
   * @param wanted whether to wait for room without a connection; asked again after {@link #stir}
   * @return false: it was not wanted any more before there was room
   */
  public boolean sendPiece(
      int link, long ticket, long offset, long address, int lengthBytes, BooleanSupplier wanted) {
    return connection(link).sendPiece(ticket, offset, address, lengthBytes, wanted);
  }

  /** Has those who send pieces ask again whether they are wanted. */
  public void stir() {
    peers().forEach(PeerConnection::stir);
  }

  public void endPull(int link, long ticket, int result) {
    connection(link).post(PeerFrames.END, result, ticket);
  }

  /**
   * Runs something that sends pieces, in the connection's own thread, one after the other.
   *
   * @return false: not, as the connection is gone for ever
   */
  public boolean serve(int link, Runnable task) {
    return connection(link).serve(task);
  }

  public long receivedBytes() {
    return receivedBytes.sum();
  }

  public long sentBytes() {
    return sentBytes.sum();
  }

  /** Ends all connections; nothing is heard of them any more. */
  public void close() {
    peers().forEach(PeerConnection::close);
    synchronized (this) {
      early.values().forEach(came -> Posix.close(came.fd));
      early.clear();
    }
  }

  private void connect(int link, int fd, byte[] random) {
    if (isPeer(link)) {
      connection(link).connect(fd, random);
    } else {
      Posix.close(fd);
    }
  }

  private synchronized PeerConnection connection(int link) {
    return Objects.requireNonNull(connections.get(link));
  }
}
