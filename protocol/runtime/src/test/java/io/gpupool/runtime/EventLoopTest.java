// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class EventLoopTest {
  private final EventLoop loop = new EventLoop("event-loop-test");

  @AfterEach
  void close() {
    loop.close();
  }

  @Test
  void task_thatFails_isFollowedByOthers() throws Exception {
    CompletableFuture<Boolean> own = new CompletableFuture<>();
    loop.execute(() -> {
      throw new IllegalStateException("as the test wants it");
    });
    loop.execute(() -> own.complete(loop.isThisThread()));
    assertThat(own.get(10, TimeUnit.SECONDS)).isTrue();
    assertThat(loop.isThisThread()).isFalse();
  }

  @Test
  void close_tasksForNow_runAndLaterOnesDoNot() {
    List<String> ran = new ArrayList<>();
    Timers.Cancellable ignored = loop.after(Duration.ofHours(1), () -> ran.add("later"));
    loop.execute(() -> ran.add("now"));
    loop.close();
    loop.execute(() -> ran.add("after the end"));
    assertThat(ran).containsExactly("now");
  }

  @Test
  void after_calledOff_doesNotRun() throws Exception {
    CountDownLatch last = new CountDownLatch(1);
    List<String> ran = new ArrayList<>();
    loop.after(Duration.ofMillis(20), () -> ran.add("called off")).cancel();
    Timers.Cancellable ignored = loop.after(Duration.ofMillis(40), last::countDown);
    assertThat(last.await(10, TimeUnit.SECONDS)).isTrue();
    assertThat(ran).isEmpty();
  }
}
