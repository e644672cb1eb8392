// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import io.gpupool.wire.TextMessage;
import io.gpupool.wire.TextMessageReader;
import io.gpupool.wire.WireException;
import io.gpupool.worker.os.ListeningSocket;
import io.gpupool.worker.os.UnixSocket;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The place where later processes of the pool-server claim this worker, with the token that it had
 * from the first one. A claim cuts the connection before it: of two servers, the later one has the
 * worker. Has a thread of its own, which waits for nobody for long.
 */
public final class ClaimListener {
  public static final int PROTOCOL = 1;
  private static final long PATIENCE_MILLIS = 2000;
  private static final int PAUSE_MILLIS = 100;

  private final ListeningSocket listening;
  private final byte[] token;
  private final LinkedBlockingQueue<Claim> claims = new LinkedBlockingQueue<>();

  public ClaimListener(ListeningSocket listening, String token) {
    this.listening = listening;
    this.token = token.getBytes(StandardCharsets.UTF_8);
  }

  /** Accepts claims from now on. */
  public void begin(ControlLink control) {
    Claim first = control.sockets();
    Thread.ofPlatform().name("claims").daemon().start(() -> run(first));
  }

  /** Waits for a claim. */
  public Optional<Claim> await(long millis) {
    try {
      return Optional.ofNullable(claims.poll(millis, TimeUnit.MILLISECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }

  private void run(Claim first) {
    Claim latest = first;
    while (true) {
      try {
        UnixSocket socket = listening.accept();
        Optional<Claim> claim = read(socket);
        if (claim.isPresent()) {
          Claim former = latest;
          latest = claim.get();
          claims.add(latest);
          former.cut();
        } else {
          socket.close();
        }
      } catch (IOException e) {
        pause();
      }
    }
  }

  private Optional<Claim> read(UnixSocket socket) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MILLIS);
    try {
      TextMessage message = receive(socket, deadline);
      // Before any judgement: whoever sends it need not find the connection closed.
      UnixSocket inbox = message.get("inbox").isPresent() ? inbox(socket, deadline) : null;
      Optional<String> refusal = refusal(message);
      if (refusal.isEmpty()) {
        return Optional.of(new Claim(socket, inbox));
      }
      if (inbox != null) {
        inbox.close();
      }
      socket.write(refused(refusal.get()).encode());
      return Optional.empty();
    } catch (IOException | WireException e) {
      // Whoever it is does not speak as a server does.
      return Optional.empty();
    }
  }

  private static UnixSocket inbox(UnixSocket socket, long deadline) throws IOException {
    await(socket, deadline);
    return new UnixSocket(
        socket
            .receiveDescriptor()
            .orElseThrow(() -> new IOException("the connection ended before the inbox")));
  }

  private Optional<String> refusal(TextMessage message) {
    if (!message.type().equals("claim")) {
      return Optional.of("not a claim");
    }
    if (!message.get("protocol").equals(Optional.of(Integer.toString(PROTOCOL)))) {
      return Optional.of("protocol " + PROTOCOL + " is spoken here");
    }
    if (message.get("inbox").isEmpty()) {
      return Optional.of("no inbox is handed over");
    }
    byte[] shown = message.get("token").orElse("").getBytes(StandardCharsets.UTF_8);
    return token.length > 0 && MessageDigest.isEqual(token, shown)
        ? Optional.empty()
        : Optional.of("the token is not this worker's");
  }

  private static TextMessage refused(String reason) {
    return TextMessage.ofType("refused").put("protocol", PROTOCOL).put("reason", reason).build();
  }

  private static TextMessage receive(UnixSocket socket, long deadline)
      throws IOException, WireException {
    TextMessageReader reader = new TextMessageReader();
    ByteBuffer bytes = ByteBuffer.allocate(TextMessage.MAX_TEXT_BYTES);
    while (true) {
      await(socket, deadline);
      bytes.clear();
      if (socket.read(bytes, reader.missingBytes()) < 0) {
        throw new IOException("the connection ended before the claim");
      }
      Optional<TextMessage> message = reader.read(bytes.flip());
      if (message.isPresent()) {
        return message.get();
      }
    }
  }

  private static void await(UnixSocket socket, long deadline) throws IOException {
    long leftMillis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
    if (leftMillis <= 0 || !socket.awaitReadable((int) leftMillis)) {
      throw new IOException("no claim came in time");
    }
  }

  /** Lets a shortage of descriptors pass. */
  private static void pause() {
    try {
      Thread.sleep(PAUSE_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
