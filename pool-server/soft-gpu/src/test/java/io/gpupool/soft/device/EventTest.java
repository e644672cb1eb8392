// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.work.Completion;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class EventTest {
  private final SoftGpu gpu = TestGpu.create();
  private final SoftContext context = new SoftContext(gpu.device(0), 0);
  private final SoftStream stream = context.createStream(0, 0);
  private final SoftEvent start = context.createEvent(0);
  private final SoftEvent end = context.createEvent(0);

  @AfterEach
  void close() {
    gpu.close();
  }

  @Test
  void completion_neverRecorded_isDone() {
    assertThat(start.completion().isDone()).isTrue();
  }

  @Test
  void completion_recordedBehindHeldWork_isDoneOnceReached() {
    Gate gate = new Gate();
    stream.callHost(gate, false);
    stream.record(start);
    assertThat(start.completion().isDone()).isFalse();

    gate.open();

    assertThat(start.completion().isDone()).isTrue();
  }

  @Test
  void elapsed_workBetweenTheRecords_coversIt() throws InterruptedException {
    stream.record(start);
    Gate gate = new Gate();
    stream.callHost(gate, false);
    stream.record(end);
    long from = System.nanoTime();
    Thread.sleep(20);
    long heldNanos = System.nanoTime() - from;
    gate.open();

    assertThat(SoftEvent.elapsedMillis(start, end)).isGreaterThanOrEqualTo(heldNanos / 1e6f);
    assertThat(SoftEvent.elapsedMillis(end, start)).isNegative();
  }

  @Test
  void elapsed_notReached_isNotReady() {
    stream.record(start);
    stream.callHost(new Gate(), false);
    stream.record(end);

    assertStatus(() -> SoftEvent.elapsedMillis(start, end), CudaStatus.NOT_READY);
  }

  @Test
  void elapsed_notRecordedOrWithoutTiming_isInvalidHandle() {
    SoftEvent untimed = context.createEvent(SoftEvent.DISABLE_TIMING);
    stream.record(start);
    stream.record(untimed);

    assertStatus(() -> SoftEvent.elapsedMillis(start, end), CudaStatus.INVALID_HANDLE);
    assertStatus(() -> SoftEvent.elapsedMillis(start, untimed), CudaStatus.INVALID_HANDLE);
  }

  @Test
  void record_eventOfAnotherContext_isInvalidHandle() {
    SoftContext other = new SoftContext(gpu.device(0), 0);

    assertStatus(() -> stream.record(other.createEvent(0)), CudaStatus.INVALID_HANDLE);
  }

  @Test
  void createEvent_unknownFlagsOrInterprocessWithTimes_isRefused() {
    assertStatus(() -> context.createEvent(64), CudaStatus.INVALID_VALUE);
    assertStatus(() -> context.createEvent(SoftEvent.INTERPROCESS), CudaStatus.INVALID_VALUE);
    assertStatus(() -> context.createEvent(0).shared(), CudaStatus.INVALID_HANDLE);
  }

  @Test
  void interprocessEvent_openedTwice_followsWhoeverRecordedLast() {
    SoftEvent event = context.createEvent(SoftEvent.INTERPROCESS | SoftEvent.DISABLE_TIMING);
    SoftEvent other = context.openEvent(event.shared().descriptor());
    assertThat(other.completion().isDone()).isTrue();

    long record = event.shared().begin();
    assertThat(other.completion().isDone()).isFalse();
    event.shared().done(record);
    assertThat(other.completion().isDone()).isTrue();

    SoftStream stream = context.createStream(0, 0);
    Completion reached = stream.record(other);
    assertThat(reached.isDone()).isTrue();
    assertThat(event.shared().latest()).isEqualTo(record + 1);
    assertThat(event.completion().isDone()).isTrue();
    event.destroy();
    other.destroy();
  }
}
