// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.ResumeLimits;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.TcpWatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The connection to one other worker, and later ones in its place if the session outlives it: a
 * thread that receives, one that sends what has to wait, and one that reads what was asked for.
 * Short frames leave at once if nothing is in their way; whoever posts one never waits.
 */
final class PeerConnection {
  private static final int MAX_CALLERS = 4;
  private static final int NONE = -1;

  private final int link;
  private final boolean isCalled;
  private final boolean canResume;
  private final PeerListener listener;
  private final LongAdder receivedBytes;
  private final PeerArrivals arrivals;
  private final PeerOutbox outbox;
  private final PeerWriter writer;
  private final PeerSecret secret = new PeerSecret();
  private final AtomicInteger callers = new AtomicInteger();
  private final ExecutorService reads;

  @GuardedBy("this")
  private int fd = NONE;

  @GuardedBy("this")
  private boolean silent;

  @GuardedBy("this")
  private boolean told;

  @GuardedBy("this")
  private boolean over;

  /** Whether a session that ends with its connection has had one. */
  @GuardedBy("this")
  private boolean used;

  // Of the thread that receives.

  private boolean connectedBefore;
  private long received;
  private long acknowledged;

  /**
   * Begins without a connection.
   *
   * @param dial asks for another connection; null: the other worker does
   * @param windowMillis how long the session outlives its connection; 0: not at all
   */
  PeerConnection(
      int link,
      @Nullable Runnable dial,
      long windowMillis,
      PeerListener listener,
      LongAdder receivedBytes,
      LongAdder sentBytes) {
    this.link = link;
    this.listener = listener;
    this.receivedBytes = receivedBytes;
    isCalled = dial == null;
    canResume = windowMillis > 0;
    arrivals = new PeerArrivals(windowMillis, dial);
    outbox = new PeerOutbox(canResume);
    writer = new PeerWriter(outbox, sentBytes);
    reads = Executors.newSingleThreadExecutor(task -> daemon("peer-read", task));
    daemon("peer-receive", this::run).start();
    daemon("peer-send", this::sendAll).start();
  }

  /**
   * Goes on with a connected socket, if the session outlives its connection or had none.
   *
   * @param random bytes that nobody knows, for the greeting
   */
  void connect(int socket, byte[] random) {
    if (!canResume) {
      synchronized (this) {
        if (used || over) {
          Posix.close(socket);
          return;
        }
        used = true;
      }
      arrivals.offer(new PeerArrivals.Arrival(socket, random, NONE));
    } else if (!isCalled) {
      take(new PeerArrivals.Arrival(socket, random, NONE));
    } else if (callers.incrementAndGet() > MAX_CALLERS) {
      callers.decrementAndGet();
      Posix.close(socket);
    } else {
      daemon("peer-greet", () -> greet(socket, random)).start();
    }
  }

  /** A caller is let in when it has proved that it is the right one. */
  private void greet(int socket, byte[] random) {
    try (PeerGreeting greeting = new PeerGreeting(socket)) {
      long position = greeting.called(random, secret);
      if (position >= 0) {
        take(new PeerArrivals.Arrival(socket, random, position));
      } else {
        Posix.close(socket);
      }
    } finally {
      callers.decrementAndGet();
    }
  }

  /** A later connection fences the former one off, even if that looks alive. */
  private synchronized void take(PeerArrivals.Arrival arrival) {
    arrivals.offer(arrival);
    if (fd != NONE) {
      Posix.shutdown(fd);
    }
  }

  /** There is no connection; {@code again}: but perhaps later. */
  void refuse(String why, boolean again) {
    arrivals.refuse(why, again);
  }

  /** Looks at the connection, about once a second. */
  synchronized void watch() {
    if (fd != NONE && !silent && TcpWatch.isSilent(fd)) {
      silent = true;
      Posix.shutdown(fd);
    }
  }

  /** Nothing is heard of it any more. */
  void close() {
    synchronized (this) {
      told = true;
    }
    if (canResume) {
      writer.leave();
    }
    end("the session has ended", false);
  }

  /** Sends a short frame soon. */
  void post(int kind, int value, long ticket, long... more) {
    if (outbox.add(PeerFrame.of(kind, value, ticket, more))) {
      writer.writeSome();
    } else {
      end("too many tickets wait for it", false);
    }
  }

  /** Runs something that sends pieces; false if all is over. */
  boolean serve(Runnable task) {
    try {
      reads.execute(task);
      return true;
    } catch (RejectedExecutionException e) {
      return false;
    }
  }

  /**
   * Sends a piece; its bytes may change afterwards. Called by tasks of {@link #serve}.
   *
   * @return false: it was not wanted any more before there was room
   */
  boolean sendPiece(
      long ticket, long offset, long address, int lengthBytes, BooleanSupplier wanted) {
    long payload = address;
    if (canResume) {
      payload = outbox.takeBlock(wanted);
      if (payload == 0) {
        return false;
      }
      Memory.copy(address, payload, lengthBytes);
    }
    boolean ignored = outbox.add(PeerFrame.piece(ticket, offset, payload, lengthBytes));
    writer.writeAll();
    return true;
  }

  /** Has tasks that wait ask again whether they are wanted. */
  void stir() {
    outbox.stir();
  }

  private void sendAll() {
    while (outbox.awaitStir()) {
      writer.writeAll();
    }
  }

  private void run() {
    try {
      for (PeerArrivals.Arrival next = arrivals.await(); next != null; next = arrivals.await()) {
        String cause = use(next);
        if (cause != null) {
          arrivals.missed(cause);
        }
      }
      end(arrivals.reason(), false);
    } catch (PeerException e) {
      end("it sent what it must not: " + e.getMessage(), true);
    } catch (RuntimeException | Error e) {
      end("internal error: " + e, true);
      throw e;
    } finally {
      outbox.release();
    }
  }

  /** Returns why it is no more; null: none is wanted any more. */
  private @Nullable String use(PeerArrivals.Arrival arrival) throws PeerException {
    int socket = arrival.fd();
    synchronized (this) {
      if (over) {
        Posix.close(socket);
        return null;
      }
      fd = socket;
      silent = false;
    }
    try {
      if (!begin(arrival)) {
        return "the connection was not taken up";
      }
      return receiveAll(socket);
    } finally {
      Posix.shutdown(socket);
      writer.lose();
      synchronized (this) {
        Posix.close(socket);
        fd = NONE;
      }
    }
  }

  private boolean begin(PeerArrivals.Arrival arrival) throws PeerException {
    if (canResume) {
      long position = arrival.position();
      try (PeerGreeting greeting = new PeerGreeting(arrival.fd())) {
        if (!isCalled) {
          position = greeting.caller(arrival.random(), secret, received, connectedBefore);
        }
        if (position == PeerGreeting.STRANGER) {
          throw new PeerException("the beginning of another connection");
        }
        if (position == PeerGreeting.FAILED || isCalled && !greeting.welcome(received)) {
          return false;
        }
      }
      resumeAt(position);
      connectedBefore = true;
      acknowledged = received;
      arrivals.resumed();
    }
    writer.begin(arrival.fd());
    return true;
  }

  private void resumeAt(long position) throws PeerException {
    String range = outbox.range();
    if (!outbox.resumeAt(position)) {
      throw new PeerException(
          "its connection cannot be resumed at byte "
              + position
              + ": bytes "
              + range
              + " can be sent again");
    }
  }

  /** Receives until the end of the connection; returns why it ended. */
  private @Nullable String receiveAll(int socket) throws PeerException {
    PeerReader reader = new PeerReader(socket, link, listener, receivedBytes, canResume);
    try {
      while (true) {
        int lengthBytes = reader.receiveFrame();
        if (lengthBytes == PeerReader.GOODBYE) {
          arrivals.end("its session has ended");
          return null;
        } else if (lengthBytes == PeerReader.END) {
          return cause(reader.result());
        } else if (lengthBytes == PeerReader.ACKNOWLEDGED) {
          acknowledge(reader.position());
        } else {
          took(lengthBytes);
        }
      }
    } finally {
      reader.close();
    }
  }

  private void acknowledge(long position) throws PeerException {
    String range = outbox.range();
    if (!outbox.acknowledged(position)) {
      throw new PeerException(
          "an acknowledgement of byte "
              + Long.toUnsignedString(position)
              + ": bytes "
              + range
              + " can be acknowledged");
    }
  }

  private void took(int lengthBytes) {
    received += lengthBytes;
    if (canResume && received - acknowledged >= ResumeLimits.ACKNOWLEDGE_BYTES) {
      acknowledged = received;
      outbox.acknowledgeUpTo(received);
      writer.writeSome();
    }
  }

  private synchronized String cause(long result) {
    if (!canResume) {
      return "its server closed the connection";
    }
    return TcpWatch.cause(silent, result);
  }

  private void end(String why, boolean malformed) {
    boolean first;
    synchronized (this) {
      first = !told;
      told = true;
      over = true;
      if (fd != NONE) {
        Posix.shutdown(fd);
      }
    }
    arrivals.end(why);
    outbox.end();
    reads.shutdown();
    if (first) {
      listener.lost(link, why, malformed);
    }
  }

  private static Thread daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }
}
