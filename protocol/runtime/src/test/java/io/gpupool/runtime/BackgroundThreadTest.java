// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class BackgroundThreadTest {
  private final AtomicBoolean ended = new AtomicBoolean();
  private final CountDownLatch started = new CountDownLatch(1);
  private final CountDownLatch mayEnd = new CountDownLatch(1);

  @Test
  void close_ofARunningTask_interruptsItAndWaitsForItsEnd() throws InterruptedException {
    BackgroundThread thread = new BackgroundThread(Thread.ofVirtual(), this::sleep);
    thread.start();
    started.await();
    mayEnd.countDown();
    thread.close();
    assertThat(ended).isTrue();
  }

  @Test
  void close_byAnInterruptedThread_returnsAtOnceAndKeepsTheInterrupt() throws InterruptedException {
    BackgroundThread thread = new BackgroundThread(Thread.ofVirtual(), this::sleep);
    thread.start();
    started.await();
    Thread.currentThread().interrupt();
    thread.close();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(ended).isFalse();
    mayEnd.countDown();
  }

  @Test
  void close_beforeTheStart_returns() {
    new BackgroundThread(Thread.ofVirtual(), this::sleep).close();
    assertThat(ended).isFalse();
  }

  private void sleep() {
    started.countDown();
    try {
      Thread.sleep(60_000);
    } catch (InterruptedException e) {
      awaitUninterrupted();
      ended.set(true);
    }
  }

  private void awaitUninterrupted() {
    try {
      mayEnd.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
