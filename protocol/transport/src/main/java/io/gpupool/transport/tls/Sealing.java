// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.gpupool.transport.BlockingSocket;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;

/**
 * The direction of a relay that encrypts. A thread of its own runs it; the other direction's comes
 * in where TLS itself has something to say.
 */
final class Sealing {
  /** The bytes that are encrypted at a time: enough to make the cost of both calls small. */
  private static final int CLEAR_BYTES = 64 * 1024;

  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private final SSLEngine engine;
  private final BlockingSocket from;
  private final BlockingSocket to;
  private final MemorySegment clear;
  private final MemorySegment sealed;

  /** One record, on the heap: there the JDK encrypts twice as fast as outside. */
  private final ByteBuffer record;

  Sealing(SSLEngine engine, BlockingSocket from, BlockingSocket to, Arena memory) {
    this.engine = engine;
    this.from = from;
    this.to = to;
    record = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
    clear = memory.allocate(CLEAR_BYTES);
    sealed = memory.allocate(CLEAR_BYTES + 2L * record.capacity());
  }

  /** Relays until either side ends. */
  void run() throws SSLException {
    ByteBuffer bytes = clear.asByteBuffer();
    long count = from.receive(clear, 0);
    while (count > 0 && send(bytes.clear().limit((int) count))) {
      count = from.receive(clear, 0);
    }
    goodbye();
  }

  /** Sends what TLS has to say of itself; false when the other side takes no more. */
  boolean sendOwn() throws SSLException {
    return send(NOTHING);
  }

  private synchronized void goodbye() throws SSLException {
    engine.closeOutbound();
    send(NOTHING);
  }

  private synchronized boolean send(ByteBuffer bytes) throws SSLException {
    long filled = 0;
    do {
      if (sealed.byteSize() - filled < record.capacity()) {
        if (!to.send(sealed, filled)) {
          return false;
        }
        filled = 0;
      }
      engine.wrap(bytes, record.clear());
      int sealedBytes = record.position();
      if (sealedBytes == 0) {
        // With nothing to seal, the other thread has already sent what TLS had to say.
        return !bytes.hasRemaining() && !engine.isOutboundDone();
      }
      MemorySegment.copy(record.array(), 0, sealed, JAVA_BYTE, filled, sealedBytes);
      filled += sealedBytes;
    } while (bytes.hasRemaining());
    return to.send(sealed, filled);
  }
}
