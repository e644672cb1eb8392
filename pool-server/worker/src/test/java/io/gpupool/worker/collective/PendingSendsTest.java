// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.lang.foreign.Arena;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PendingSendsTest {
  /** More than a socket takes at once. */
  private static final int LENGTH_BYTES = 8 << 20;

  private final Arena arena = Arena.ofShared();
  private final int[] pair = Posix.socketPair();
  private final long source = arena.allocate(LENGTH_BYTES).address();
  private final long target = arena.allocate(LENGTH_BYTES).address();
  private final PendingSends pending = new PendingSends();
  private final SocketOutlet outlet = new SocketOutlet(new ConnectedSocket(pair[0]), pending);
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void free() throws InterruptedException {
    outlet.close();
    Posix.close(pair[1]);
    threads.shutdownNow();
    assertThat(threads.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    arena.close();
  }

  /** Receives so much, in another thread. */
  private Future<?> receive(int lengthBytes) {
    return threads.submit(() -> {
      for (int received = 0; received < lengthBytes; ) {
        long count = Posix.recv(pair[1], target + received, lengthBytes - received, 0);
        assertThat(count).isPositive();
        received += (int) count;
      }
      return true;
    });
  }

  @Test
  void sends_thatTheSocketDoesNotTake_goOnAsItIsRead() throws Exception {
    Memory.putByte(source + LENGTH_BYTES - 1, 5);
    outlet.send(source, LENGTH_BYTES);
    assertThat(outlet.isPending()).isTrue();
    Future<?> received = receive(LENGTH_BYTES);
    pending.flush();
    received.get();
    assertThat(Memory.getByte(target + LENGTH_BYTES - 1)).isEqualTo((byte) 5);
  }

  @Test
  void flush_ofWhatWasSentWithLaterPieces_returns() throws Exception {
    outlet.send(source, LENGTH_BYTES);
    Future<?> received = receive(LENGTH_BYTES);
    while (outlet.isPending()) {
      boolean ignored = outlet.advance();
    }
    received.get();
    pending.flush();
    outlet.flush();
  }

  @Test
  void sends_thatAreLeft_goOnInAnotherThread() throws Exception {
    Memory.putByte(source + LENGTH_BYTES - 1, 6);
    outlet.send(source, LENGTH_BYTES);
    pending.leave();
    receive(LENGTH_BYTES).get();
    assertThat(Memory.getByte(target + LENGTH_BYTES - 1)).isEqualTo((byte) 6);
    outlet.flush();
    outlet.send(source, 1);
    receive(1).get();
    assertThat(outlet.isPending()).isFalse();
  }
}
