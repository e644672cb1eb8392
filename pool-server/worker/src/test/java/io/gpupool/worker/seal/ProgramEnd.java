// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.seal;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The program's end of a new connection, sealed or in the clear. One thread at a time receives, and
 * one sends.
 */
public final class ProgramEnd implements AutoCloseable {
  private static final int ROOM_BYTES = 1 << 20;
  private static final AtomicInteger CONNECTIONS = new AtomicInteger();

  private final int fd;
  private final ProgramConnection worker;
  private final @Nullable RecordSealer sealer;
  private final @Nullable RecordOpener opener;

  /** Freed when this object is. */
  private final MemorySegment memory = Arena.ofAuto().allocate(3L * ROOM_BYTES, 64);

  private final long content = memory.address();
  private final long outgoing = content + ROOM_BYTES;
  private final long incoming = outgoing + ROOM_BYTES;

  /** What is on its way, of the bytes that were taken. */
  private int sent;

  private int ready;

  /** What was received and not asked for yet. */
  private byte[] rest = new byte[0];

  private ProgramEnd(boolean sealed) {
    int[] pair = Posix.socketPair();
    fd = pair[0];
    if (sealed) {
      byte[] secret = new byte[RecordKeys.SECRET_BYTES];
      Arrays.fill(secret, (byte) CONNECTIONS.incrementAndGet());
      sealer = new RecordSealer(RecordKeys.sealing(secret, RecordKeys.End.PROGRAM));
      opener = new RecordOpener(RecordKeys.opening(secret, RecordKeys.End.WORKER));
      worker = ProgramConnection.sealed(pair[1], secret);
    } else {
      sealer = null;
      opener = null;
      worker = ProgramConnection.clear(pair[1]);
    }
  }

  public static ProgramEnd open(boolean sealed) {
    return new ProgramEnd(sealed);
  }

  public int fd() {
    return fd;
  }

  /** The other end, whose descriptor is not closed with this one. */
  public ProgramConnection worker() {
    return worker;
  }

  /** Takes bytes and sends what can be without waiting; returns how many it took. */
  public int send(byte[] bytes, int from, int lengthBytes) {
    if (!flush(Posix.MSG_DONTWAIT)) {
      return 0;
    }
    int length = Math.min(lengthBytes, Records.MAX_CONTENT_BYTES);
    Memory.put(content, Arrays.copyOfRange(bytes, from, from + length), length);
    sent = 0;
    if (sealer == null) {
      Memory.copy(content, outgoing, length);
      ready = length;
    } else {
      ready = sealer.seal(content, length, outgoing);
    }
    boolean ignored = flush(Posix.MSG_DONTWAIT);
    return length;
  }

  /** Sends all, unless the connection ends. */
  public void sendAll(byte[] bytes, int lengthBytes) {
    boolean open = true;
    for (int at = 0; at < lengthBytes && open; ) {
      at += send(bytes, at, lengthBytes - at);
      open = flush(0);
    }
  }

  /** Sends bytes as they are, and not as content. */
  public void sendRaw(byte[] bytes) {
    Memory.put(content, bytes, bytes.length);
    int ignored = Posix.sendAll(fd, content, bytes.length, false);
  }

  /** Sends what can be of the bytes that were taken; returns whether all of them are sent. */
  public boolean flush(int flags) {
    long count = 0;
    while (sent < ready && count >= 0) {
      count = Posix.send(fd, outgoing + sent, ready - sent, flags);
      sent += (int) Math.max(0, count);
    }
    return sent == ready;
  }

  /** Receives up to so many bytes; none: nothing is there, or the connection has ended. */
  public byte[] receive(int mostBytes, int flags) {
    if (rest.length == 0) {
      long count =
          opener == null
              ? Posix.recv(fd, incoming, Math.min(mostBytes, ROOM_BYTES), flags)
              : opener.receive(fd, incoming, ROOM_BYTES, flags);
      rest = Memory.bytes(incoming, (int) Math.max(0, count));
    }
    int length = Math.min(mostBytes, rest.length);
    byte[] bytes = Arrays.copyOf(rest, length);
    rest = Arrays.copyOfRange(rest, length, rest.length);
    return bytes;
  }

  @Override
  public void close() {
    Posix.close(fd);
  }
}
