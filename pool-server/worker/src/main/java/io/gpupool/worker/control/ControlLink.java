// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.TextMessageReader;
import io.gpupool.wire.WireException;
import io.gpupool.worker.os.UnixSocket;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The connection to the pool-server, which may be another process in the course of time. One thread
 * receives, any thread sends.
 */
public final class ControlLink {
  private final ByteBuffer bytes = ByteBuffer.allocate(TextMessage.MAX_TEXT_BYTES);

  /** Requests without an answer, in their order. */
  private final Map<String, Request> outstanding =
      Collections.synchronizedMap(new LinkedHashMap<>());

  private volatile UnixSocket socket;
  private volatile boolean gone;
  private volatile long beganNanos = System.nanoTime();

  /** The socket on which the server takes descriptors. */
  private volatile @Nullable UnixSocket inbox;

  /** Owned by the receiving thread. */
  private TextMessageReader reader = new TextMessageReader();

  private record Request(TextMessage message, @Nullable Integer descriptor) {}

  /** What is said first on a connection. */
  public interface Opening {
    void say() throws IOException;
  }

  public ControlLink(UnixSocket socket) {
    this.socket = socket;
  }

  /** Sets the socket on which the server takes descriptors; comes before the session begins. */
  public void handOverBy(UnixSocket newInbox) {
    inbox = newInbox;
  }

  public boolean takesDescriptors() {
    return inbox != null;
  }

  /** Sends a message, which is lost if there is no server. */
  public synchronized void send(TextMessage message) throws IOException {
    socket.write(message.encode());
  }

  /** Does something and sends a message about it; no other server comes in between. */
  synchronized void send(TextMessage message, Runnable done) throws IOException {
    done.run();
    send(message);
  }

  /** Hands a descriptor over, before a message refers to it. */
  public synchronized void handOver(int descriptor) throws IOException {
    UnixSocket taking = inbox;
    if (taking != null) {
      taking.sendDescriptor(descriptor);
    }
  }

  /** Hands a descriptor over, if there is one, and sends the message that refers to it. */
  public synchronized void send(TextMessage message, @Nullable Integer descriptor)
      throws IOException {
    if (descriptor != null) {
      handOver(descriptor);
    }
    send(message);
  }

  /**
   * Sends a request, and again to each later server until it is settled.
   *
   * @param key a name for it, which no other outstanding request has
   * @param descriptor handed over with it; stays open until then
   */
  public synchronized void ask(String key, TextMessage message, @Nullable Integer descriptor) {
    outstanding.put(key, new Request(message, descriptor));
    try {
      send(message, descriptor);
    } catch (IOException e) {
      // The server has gone: the next one gets the request, or there is none and the process ends.
    }
  }

  /** The answer has come, by the receiving thread. */
  public void settled(String key) {
    outstanding.remove(key);
  }

  /** Nobody waits for the answer any longer. */
  public synchronized void forget(String key) {
    outstanding.remove(key);
  }

  /** Waits for the next message; empty when the pool-server has closed the connection. */
  public Optional<TextMessage> receive() throws IOException, WireException {
    while (true) {
      bytes.clear();
      if (socket.read(bytes, reader.missingBytes()) < 0) {
        return Optional.empty();
      }
      bytes.flip();
      Optional<TextMessage> message = reader.read(bytes);
      if (message.isPresent()) {
        return message;
      }
    }
  }

  /** Receives the descriptor that follows an {@code attach}; empty as for messages. */
  public OptionalInt receiveDescriptor() throws IOException {
    return socket.receiveDescriptor();
  }

  /** Returns whether the present server has been there for so long. Any thread may ask. */
  boolean hasLasted(long seconds) {
    return !gone && System.nanoTime() - beganNanos >= TimeUnit.SECONDS.toNanos(seconds);
  }

  /** Returns the sockets of the present connection. */
  Claim sockets() {
    return new Claim(socket, inbox);
  }

  /** There is no server until another one comes, by the receiving thread. */
  public void lose() {
    gone = true;
    sockets().cut();
  }

  /**
   * Goes on with a later server, by the receiving thread. The opening comes first, then the
   * outstanding requests; other threads wait that long.
   */
  public synchronized void replace(Claim next, Opening opening) throws IOException {
    sockets().close();
    socket = next.socket();
    inbox = next.inbox();
    reader = new TextMessageReader();
    beganNanos = System.nanoTime();
    gone = false;
    opening.say();
    for (Request request : outstandingNow()) {
      send(request.message, request.descriptor);
    }
  }

  @GuardedBy("this")
  private List<Request> outstandingNow() {
    synchronized (outstanding) {
      return new ArrayList<>(outstanding.values());
    }
  }
}
