// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.runtime.Timers;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.sandbox.Sandbox;
import io.gpupool.wire.DriverEnvironment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WorkerStartQueueTest {
  /** Starts of processes that fail when they are run, since there is no such program. */
  private final Deque<Runnable> spawns = new ArrayDeque<>();

  private final WorkerPool workers = workers(0);
  private final WorkerStartQueue starts = new WorkerStartQueue(workers, 2);
  private final List<String> served = new ArrayList<>();

  @Test
  void take_manyOfOneTenant_fewStartAtATimeAndTenantsTakeTurns() {
    for (int i = 0; i < 5; i++) {
      take("alpha");
    }
    take("beta");
    take("gamma");
    assertThat(served).containsExactly("alpha", "alpha");
    finishOne();
    finishOne();
    finishOne();
    assertThat(served).containsExactly("alpha", "alpha", "alpha", "beta", "gamma");
    while (!spawns.isEmpty()) {
      finishOne();
    }
    assertThat(served).hasSize(7);
  }

  @Test
  void cancel_beforeItsTurn_startsNothing() {
    take("alpha");
    take("alpha");
    Timers.Cancellable third = take("beta");
    third.cancel();
    finishOne();
    assertThat(served).containsExactly("alpha", "alpha");
    assertThat(workers.starting()).hasSize(1);
  }

  @Test
  void take_environmentThatSparesHaveNot_getsAWorkerOfItsOwn() {
    WorkerPool withSpare = workers(1);
    withSpare.refill();
    assertThat(withSpare.hasSpare()).isTrue();
    WorkerStartQueue starts = new WorkerStartQueue(withSpare, 2);
    List<Worker> taken = new ArrayList<>();
    starts.take("alpha", new DriverEnvironment(Map.of("CUDA_AUTO_BOOST", "0")), taken::add);
    assertThat(withSpare.hasSpare()).isTrue();
    starts.take("alpha", new DriverEnvironment(Map.of("CUDA_MODULE_LOADING", "LAZY")), taken::add);
    assertThat(withSpare.hasSpare()).isFalse();
    assertThat(taken).hasSize(2);
  }

  private WorkerPool workers(int spares) {
    return new WorkerPool(
        new WorkerLaunch(
            new WorkerCommand(List.of("/nonexistent/worker")),
            "",
            List.of(),
            Map.of(),
            DriverStart.EARLY,
            Sandbox.none(),
            null),
        spares,
        false,
        new ManualTimers(),
        Runnable::run,
        spawns::add);
  }

  private Timers.Cancellable take(String tenant) {
    return starts.take(tenant, DriverEnvironment.NONE, worker -> served.add(tenant));
  }

  private void finishOne() {
    spawns.remove().run();
  }
}
