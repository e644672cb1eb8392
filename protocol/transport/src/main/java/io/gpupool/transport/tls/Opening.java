// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.gpupool.transport.BlockingSocket;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;

/** The direction of a relay that decrypts; the thread that runs it owns it. */
final class Opening {
  private static final int SEALED_BYTES = 64 * 1024;

  /** The size of a record's header: its kind, its version and its length in two bytes. */
  private static final int HEADER_BYTES = 5;

  private static final int LENGTH_OFFSET = 3;

  private final SSLEngine engine;
  private final BlockingSocket from;
  private final BlockingSocket to;
  private final Sealing sealing;
  private final MemorySegment sealed;
  private final MemorySegment clear;
  private final ByteBuffer clearBytes;
  private final int mostClearBytes;

  /** One record, on the heap: there the JDK decrypts twice as fast as outside. */
  private final ByteBuffer record;

  private final TakenConnection connection;

  Opening(
      TakenConnection connection,
      BlockingSocket from,
      BlockingSocket to,
      Sealing sealing,
      Arena memory) {
    this.connection = connection;
    this.engine = connection.engine();
    this.from = from;
    this.to = to;
    this.sealing = sealing;
    record = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
    mostClearBytes = engine.getSession().getApplicationBufferSize();
    sealed =
        memory.allocate(SEALED_BYTES + Math.max(record.capacity(), connection.encrypted().length));
    clear = memory.allocate(Math.max(SEALED_BYTES + mostClearBytes, connection.clear().length));
    clearBytes = clear.asByteBuffer();
  }

  /** Relays until either side ends. */
  void run() throws SSLException {
    clearBytes.put(connection.clear());
    long filled = connection.encrypted().length;
    MemorySegment.copy(connection.encrypted(), 0, sealed, JAVA_BYTE, 0, (int) filled);
    while (true) {
      long opened = open(filled);
      if (opened < 0 || !flush()) {
        return;
      }
      filled -= opened;
      MemorySegment.copy(sealed, opened, sealed, 0, filled);
      long count = from.receive(sealed, filled);
      if (count <= 0) {
        return;
      }
      filled += count;
    }
  }

  /** Decrypts all records that are whole; returns their bytes, less than 0 at the end. */
  private long open(long filled) throws SSLException {
    long at = 0;
    int lengthBytes = lengthBytes(at, filled);
    while (lengthBytes > 0) {
      if (clearBytes.remaining() < mostClearBytes && !flush()) {
        return -1;
      }
      MemorySegment.copy(sealed, JAVA_BYTE, at, record.array(), 0, lengthBytes);
      record.clear().limit(lengthBytes);
      if (!openRecord()) {
        flush();
        return -1;
      }
      at += lengthBytes;
      lengthBytes = lengthBytes(at, filled);
    }
    return at;
  }

  /** Returns the length of the record that begins here; 0 if it is not whole. */
  private int lengthBytes(long at, long filled) throws SSLException {
    if (filled - at < HEADER_BYTES) {
      return 0;
    }
    int high = sealed.get(JAVA_BYTE, at + LENGTH_OFFSET) & 0xff;
    int low = sealed.get(JAVA_BYTE, at + LENGTH_OFFSET + 1) & 0xff;
    int lengthBytes = HEADER_BYTES + (high << 8 | low);
    if (lengthBytes > record.capacity()) {
      throw new SSLException("a record of " + lengthBytes + " bytes is longer than TLS has any");
    }
    return filled - at < lengthBytes ? 0 : lengthBytes;
  }

  /** False once the other side has said that no more will come. */
  private boolean openRecord() throws SSLException {
    while (record.hasRemaining()) {
      SSLEngineResult result = engine.unwrap(record, clearBytes);
      if (result.getStatus() == SSLEngineResult.Status.CLOSED) {
        return false;
      }
      HandshakeStatus status = result.getHandshakeStatus();
      if (result.getStatus() != SSLEngineResult.Status.OK
          || (result.bytesConsumed() == 0 && status == HandshakeStatus.NOT_HANDSHAKING)) {
        throw new SSLException("a record cannot be decrypted: " + result);
      }
      if (status != HandshakeStatus.NOT_HANDSHAKING && !goOn()) {
        return false;
      }
    }
    return true;
  }

  /** Does what TLS asks for when the other side renews its keys or has sent a ticket. */
  private boolean goOn() throws SSLException {
    while (true) {
      switch (engine.getHandshakeStatus()) {
        case NEED_TASK -> {
          Runnable task = engine.getDelegatedTask();
          if (task != null) {
            task.run();
          }
        }
        case NEED_WRAP -> {
          if (!sealing.sendOwn()) {
            return false;
          }
        }
        case NEED_UNWRAP, NEED_UNWRAP_AGAIN, FINISHED, NOT_HANDSHAKING -> {
          return true;
        }
      }
    }
  }

  /** Passes on what is decrypted; false when nobody takes it any more. */
  private boolean flush() {
    int count = clearBytes.position();
    clearBytes.clear();
    return count == 0 || to.send(clear, count);
  }
}
