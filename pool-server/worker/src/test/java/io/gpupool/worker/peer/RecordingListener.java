// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A worker's end of tests: it records what comes, and serves and receives copies of memory. */
final class RecordingListener implements PeerListener {
  private static final int LIMIT_SECONDS = 40;

  final CompletableFuture<String> lost = new CompletableFuture<>();
  private final List<String> frames = new ArrayList<>();
  private final Map<Long, Long> sources = new HashMap<>();
  private final Map<Long, Long> targets = new HashMap<>();
  private final Map<Long, Long> come = new HashMap<>();
  private PeerConnections peers;

  void use(PeerConnections newPeers) {
    peers = newPeers;
  }

  /** Lets a pull of this ticket read from an address. */
  synchronized void allow(long ticket, long source) {
    sources.put(ticket, source);
  }

  /** Has the bytes of a pull written to an address. */
  synchronized void expect(long ticket, long target) {
    targets.put(ticket, target);
    come.put(ticket, 0L);
  }

  /** Waits for so many frames, pieces aside. */
  synchronized List<String> await(int count) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    while (frames.size() < count && System.nanoTime() < deadline && !lost.isDone()) {
      wait(100);
    }
    return List.copyOf(frames);
  }

  private synchronized void record(String frame) {
    frames.add(frame);
    notifyAll();
  }

  @Override
  public void ticketCame(int link, long ticket) {
    record("ticket " + ticket);
  }

  @Override
  public void pullCame(int link, long ticket, long lengthBytes) throws PeerException {
    record("pull " + ticket);
    long source = source(ticket);
    boolean ignored =
        peers.serve(
            link,
            () -> {
              for (long at = 0; at < lengthBytes; at += PeerFrames.MAX_PIECE_BYTES) {
                int length = (int) Math.min(PeerFrames.MAX_PIECE_BYTES, lengthBytes - at);
                boolean sent = peers.sendPiece(link, ticket, at, source + at, length, () -> true);
                assertThat(sent || lost.isDone()).isTrue();
              }
              // As a program may do that has been told that the copy is complete.
              Memory.clear(source, lengthBytes);
              peers.endPull(link, ticket, 0);
            });
  }

  private synchronized long source(long ticket) throws PeerException {
    Long source = sources.get(ticket);
    if (source == null) {
      throw new PeerException("a copy that is not allowed");
    }
    return source;
  }

  @Override
  public synchronized long place(int link, long ticket, long offset, int lengthBytes)
      throws PeerException {
    if (!targets.containsKey(ticket) || come.get(ticket) != offset) {
      throw new PeerException(lengthBytes + " bytes at " + offset + " of copy " + ticket);
    }
    return targets.get(ticket) + offset;
  }

  @Override
  public synchronized void placed(int link, long ticket, long offset, int lengthBytes) {
    come.merge(ticket, (long) lengthBytes, Long::sum);
  }

  @Override
  public void pullEnded(int link, long ticket, int result) {
    record("end " + ticket + " of " + come.get(ticket));
  }

  @Override
  public void lost(int link, String why, boolean malformed) {
    lost.complete((malformed ? "malformed: " : "") + why);
    synchronized (this) {
      notifyAll();
    }
  }

  /** Makes memory of random or no content. */
  static long memory(byte[] content) {
    long address = Posix.map(Math.max(1, content.length));
    Memory.put(address, content, content.length);
    return address;
  }
}
