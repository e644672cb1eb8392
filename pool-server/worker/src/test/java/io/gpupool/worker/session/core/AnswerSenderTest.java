// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.AnswerHeader;
import io.gpupool.cuda.AnswerKind;
import io.gpupool.worker.connection.ClearConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import org.junit.jupiter.api.Test;

/** A sender tells its client of requests that have come, over one connection after the other. */
class AnswerSenderTest {
  private static final int FRAME_BYTES = AnswerHeader.BYTES + 8;

  private record Told(int kind, long received) {}

  private static Told next(int client) {
    long frame = Posix.map(FRAME_BYTES);
    try {
      assertThat(Posix.recv(client, frame, FRAME_BYTES, 0)).isEqualTo(FRAME_BYTES);
      return new Told(
          Memory.getShort(frame + AnswerHeader.KIND), Memory.getLong(frame + AnswerHeader.BYTES));
    } finally {
      Posix.unmap(frame, FRAME_BYTES);
    }
  }

  @Test
  void acknowledgement_composedBeforeAResumption_doesNotTakeBackWhatThatTold() {
    int[] first = Posix.socketPair();
    int[] later = Posix.socketPair();
    AnswerSender sender = new AnswerSender(new AnswerLog(), new ClearConnection(first[0]));
    sender.acknowledge(24, false);
    assertThat(next(first[1])).isEqualTo(new Told(AnswerKind.ACK, 24));

    sender.disconnect();
    sender.resume(new ClearConnection(later[0]), 0, 96);
    sender.acknowledge(24, true);

    assertThat(next(later[1])).isEqualTo(new Told(AnswerKind.RESUMED, 96));
    assertThat(next(later[1])).isEqualTo(new Told(AnswerKind.ACK, 96));
    sender.release();
    for (int fd : new int[] {first[0], first[1], later[0], later[1]}) {
      Posix.close(fd);
    }
  }
}
