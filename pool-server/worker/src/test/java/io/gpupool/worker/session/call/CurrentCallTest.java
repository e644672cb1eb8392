// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.Backend;
import io.gpupool.worker.connection.ClearConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import java.lang.foreign.Arena;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CurrentCallTest {
  private static final int TAG = 7;

  private final int[] pair = Posix.socketPair();
  private final Answers answers = new Answers(new ClearConnection(pair[0]));
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Backend backend = new Backend() {};
  private final CurrentCall call =
      new CurrentCall(
          answers, new Waits(backend, answers, threads, null), ContextState.none(backend));

  @AfterEach
  void close() {
    call.release();
    threads.shutdownNow();
    answers.release();
    Posix.close(pair[0]);
    Posix.close(pair[1]);
  }

  @Test
  void answer_memoryOfTheReplyIsUsedAgain_staysForTheJournal() {
    byte[] outputs = {1, 2, 3, 4, 5, 6, 7, 8};
    try (Arena arena = Arena.ofConfined()) {
      long reply = arena.allocate(outputs.length).address();
      Memory.put(reply, outputs, outputs.length);
      call.reply(TAG, 0, reply, outputs.length);
      Memory.clear(reply, outputs.length);
      call.out();
    }
    assertThat(call.answer()).isEqualTo(outputs);
    call.reply(TAG, 1);
    assertThat(call.answer()).isEmpty();
  }
}
