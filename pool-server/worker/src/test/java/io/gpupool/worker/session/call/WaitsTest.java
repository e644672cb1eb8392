// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.cuda.AnswerHeader;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.connection.ClearConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class WaitsTest {
  private static final int TAG = 7;
  private static final long EVENT = 1;
  private static final int PATIENCE_MILLIS = 10_000;

  private final int[] pair = Posix.socketPair();
  private final Answers answers = new Answers(new ClearConnection(pair[0]));
  private final Events backend = new Events();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Waits waits = new Waits(backend, answers, threads, null);
  private final ContextState context = new ContextState(backend, 1, 0, 0, 1, true);

  /** A backend with an event that is reached when a test says so. */
  private static final class Events implements Backend {
    final CountDownLatch reached = new CountDownLatch(1);

    @Override
    public int cuCtxSetCurrent(long context) {
      return 0;
    }

    @Override
    public int cuEventQuery(long event) {
      return reached.getCount() == 0 ? 0 : CudaResult.NOT_READY;
    }

    @Override
    public int cuEventSynchronize(long event) {
      try {
        reached.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return 0;
    }
  }

  /** A wait whose one event is added while it is waited for already. */
  private static final class LateWait extends EventWait {
    private boolean added;

    LateWait(ContextState context, Backend backend, Answers answers) {
      super(context, backend, answers, TAG);
    }

    @Override
    int events() {
      return added ? 1 : 0;
    }

    @Override
    long event(int index) {
      return EVENT;
    }

    @Override
    boolean isClosed() {
      return added;
    }

    @Override
    int reached(int index, boolean answerable) {
      return 0;
    }

    @Override
    void passed(int index) {}

    @Override
    boolean isFence() {
      return true;
    }
  }

  @AfterEach
  void close() {
    backend.reached.countDown();
    threads.shutdownNow();
    answers.release();
    Posix.close(pair[0]);
    Posix.close(pair[1]);
  }

  /** A backend may look around in the middle of the very copy that is being put into its stream. */
  @Test
  void handOver_waitWithoutItsEventsYet_isAnsweredAfterTheNext() {
    LateWait wait = new LateWait(context, backend, answers);
    waits.add(wait);
    waits.handOver();
    await().until(() -> context.waitingThreads.get() == 0);
    answers.lock();
    wait.added = true;
    answers.unlock();
    waits.handOver();
    backend.reached.countDown();
    assertThat(answeredTag()).isEqualTo(TAG);
  }

  private int answeredTag() {
    long memory = Posix.map(4096);
    try {
      Memory.putInt(memory, pair[1]);
      Memory.putInt(memory + 4, Posix.POLLIN);
      assertThat(Posix.poll(memory, 1, PATIENCE_MILLIS)).as("an answer").isEqualTo(1);
      assertThat(Posix.recv(pair[1], memory, 4096, 0)).isEqualTo(AnswerHeader.BYTES);
      return Memory.getInt(memory + AnswerHeader.TAG);
    } finally {
      Posix.unmap(memory, 4096);
    }
  }
}
