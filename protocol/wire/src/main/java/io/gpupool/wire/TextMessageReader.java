// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Cuts a byte stream into {@link TextMessage}s, however the stream was split. Holds at most one
 * message; takes no byte beyond the end of the message it returns, so that what follows (a
 * descriptor, a call stream) stays with the caller. For one thread.
 */
public final class TextMessageReader {
  private final ByteBuffer header =
      ByteBuffer.allocate(TextMessage.HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private @Nullable ByteBuffer text;

  /**
   * Takes bytes up to the end of one message.
   *
   * @return the message, or empty when all bytes were taken and it is not complete yet
   * @throws WireException if the stream is not one of messages; the reader is then of no more use
   */
  public Optional<TextMessage> read(ByteBuffer in) throws WireException {
    ByteBuffer current = text;
    if (current == null) {
      take(in, header);
      if (header.hasRemaining()) {
        return Optional.empty();
      }
      header.flip();
      current = ByteBuffer.allocate(TextMessage.checkHeader(header.getInt(), header.getInt()));
      text = current;
      header.clear();
    }
    take(in, current);
    if (current.hasRemaining()) {
      return Optional.empty();
    }
    text = null;
    return Optional.of(TextMessage.parse(current.array()));
  }

  /**
   * How many more bytes the present header or text needs: what a caller may read without taking
   * bytes that belong to what follows the message.
   */
  public int missingBytes() {
    return text == null ? header.remaining() : text.remaining();
  }

  private static void take(ByteBuffer from, ByteBuffer to) {
    int count = Math.min(from.remaining(), to.remaining());
    to.put(to.position(), from, from.position(), count);
    to.position(to.position() + count);
    from.position(from.position() + count);
  }
}
