// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import io.netty.channel.DefaultMaxMessagesRecvByteBufAllocator;
import java.util.function.IntSupplier;

/**
 * Makes a channel without auto-read take one buffer of a given size a read, so that no byte beyond
 * a handshake leaves the kernel.
 */
@SuppressWarnings("deprecation") // Netty offers no other way to say how much a channel reads
public final class ExactReads extends DefaultMaxMessagesRecvByteBufAllocator {
  private final IntSupplier nextBytes;

  /** Serves one channel; {@code nextBytes} is asked on its event loop and must be positive. */
  public ExactReads(IntSupplier nextBytes) {
    super(1);
    this.nextBytes = nextBytes;
  }

  @Override
  public Handle newHandle() {
    return new MaxMessageHandle() {
      @Override
      public int guess() {
        return nextBytes.getAsInt();
      }
    };
  }
}
