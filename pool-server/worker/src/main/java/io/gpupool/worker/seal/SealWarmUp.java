// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.seal;

import io.gpupool.worker.os.Posix;
import java.util.function.BooleanSupplier;

/**
 * Seals and opens records until their code is compiled: interpreted, the cipher takes milliseconds
 * a record.
 */
public final class SealWarmUp {
  private static final int ROUNDS = 60;
  private static final int SHORT_RECORDS = 50;

  /** Has the cipher go other ways than with short and with long records. */
  private static final int MIDDLE_BYTES = 3000;

  /** As many of the longest records as the buffer of a socket pair is sure to take. */
  private static final int BYTES = 4 * Records.MAX_CONTENT_BYTES;

  private static final int ROOM_BYTES = 1 << 20;

  private SealWarmUp() {}

  /**
   * Warms up.
   *
   * @param enough asked now and then; true once the processor is needed otherwise
   */
  public static void run(BooleanSupplier enough) {
    int[] pair = Posix.socketPair();
    long memory = Posix.map(2 * ROOM_BYTES);
    byte[] secret = new byte[RecordKeys.SECRET_BYTES];
    RecordSealer sealer = new RecordSealer(RecordKeys.sealing(secret, RecordKeys.End.WORKER));
    RecordOpener opener = new RecordOpener(RecordKeys.opening(secret, RecordKeys.End.WORKER));
    for (int round = 0; round < ROUNDS && !enough.getAsBoolean(); round++) {
      for (int i = 0; i < SHORT_RECORDS; i++) {
        pass(sealer, opener, pair, memory, 64);
      }
      pass(sealer, opener, pair, memory, MIDDLE_BYTES);
      pass(sealer, opener, pair, memory, MIDDLE_BYTES);
      pass(sealer, opener, pair, memory, BYTES);
    }
    Posix.unmap(memory, 2 * ROOM_BYTES);
    Posix.close(pair[0]);
    Posix.close(pair[1]);
  }

  private static void pass(
      RecordSealer sealer, RecordOpener opener, int[] pair, long memory, int lengthBytes) {
    int failure = sealer.sendAll(pair[0], memory, lengthBytes, false);
    long received = 0;
    while (failure == 0 && received >= 0 && received < lengthBytes) {
      long count = opener.receive(pair[1], memory + ROOM_BYTES, ROOM_BYTES, 0);
      received = count <= 0 ? -1 : received + count;
    }
    if (received < 0) {
      throw new IllegalStateException("records do not come back");
    }
  }
}
