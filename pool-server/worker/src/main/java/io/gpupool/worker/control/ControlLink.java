// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import io.gpupool.wire.TextMessage;
import io.gpupool.wire.TextMessageReader;
import io.gpupool.wire.WireException;
import io.gpupool.worker.os.UnixSocket;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.OptionalInt;

/** The connection to the pool-server. One thread receives, any thread sends. */
public final class ControlLink {
  private final UnixSocket socket;
  private final TextMessageReader reader = new TextMessageReader();
  private final ByteBuffer bytes = ByteBuffer.allocate(TextMessage.MAX_TEXT_BYTES);

  public ControlLink(UnixSocket socket) {
    this.socket = socket;
  }

  public void send(TextMessage message) throws IOException {
    socket.write(message.encode());
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
}
