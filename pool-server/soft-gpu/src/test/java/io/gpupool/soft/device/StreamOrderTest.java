// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.work.Completion;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What waits for what; every stream is held by a host task until the test lets it go on. */
final class StreamOrderTest {
  private final SoftGpu gpu = TestGpu.create();
  private final SoftContext context = new SoftContext(gpu.device(0), 0);
  private final SoftStream legacy = context.legacyStream();
  private final SoftStream blocking = context.createStream(0, 0);
  private final SoftStream otherBlocking = context.createStream(0, 0);
  private final SoftStream free = context.createStream(SoftStream.NON_BLOCKING, 0);
  private final List<String> order = Collections.synchronizedList(new ArrayList<>());

  @AfterEach
  void close() {
    gpu.close();
  }

  @Test
  void stream_operations_runInTheirOrder() {
    Gate gate = hold(blocking);
    note(blocking, "first");
    note(blocking, "second");
    assertThat(order).isEmpty();

    gate.open();

    assertThat(order).containsExactly("first", "second");
  }

  @Test
  void actionAfterWork_runsOnceAllIsDone_andTheContextIsNotDoneBeforeIt() {
    Gate gate = hold(free);
    context.afterWork(
        () -> order.add(context.completion().isDone() ? "context done" : "work done"));
    assertThat(order).isEmpty();

    gate.open();

    assertThat(order).containsExactly("work done");
    assertThat(context.completion().isDone()).isTrue();
  }

  @Test
  void streams_blocking_doNotWaitForEachOther() {
    hold(blocking);
    note(otherBlocking, "other");

    assertThat(order).containsExactly("other");
  }

  @Test
  void legacyStream_blockingStreamBusy_waitsForIt() {
    Gate gate = hold(blocking);
    note(legacy, "legacy");
    assertThat(order).isEmpty();

    gate.open();

    assertThat(order).containsExactly("legacy");
  }

  @Test
  void blockingStream_legacyStreamBusy_waitsForIt() {
    Gate gate = hold(legacy);
    note(blocking, "blocking");
    assertThat(order).isEmpty();

    gate.open();

    assertThat(order).containsExactly("blocking");
  }

  @Test
  void blockingStreams_legacyBetween_areOrderedThroughIt() {
    Gate gate = hold(blocking);
    note(legacy, "legacy");
    note(otherBlocking, "other");
    assertThat(order).isEmpty();

    gate.open();

    assertThat(order).containsExactly("legacy", "other");
  }

  @Test
  void nonBlockingStream_legacyStreamBusy_runs() {
    hold(legacy);
    note(free, "free");

    assertThat(order).containsExactly("free");
  }

  @Test
  void legacyStream_nonBlockingStreamBusy_runs() {
    hold(free);
    note(legacy, "legacy");

    assertThat(order).containsExactly("legacy");
  }

  @Test
  void legacyStreams_ofTwoContexts_doNotWaitForEachOther() {
    SoftContext other = new SoftContext(gpu.device(0), 0);
    hold(legacy);
    note(other.legacyStream(), "other");

    assertThat(order).containsExactly("other");
  }

  @Test
  void waitFor_eventRecordedBehindHeldWork_holdsTheWaitingStream() {
    SoftEvent event = context.createEvent(0);
    Gate gate = hold(free);
    free.record(event);
    blocking.waitFor(event);
    note(blocking, "after");
    assertThat(order).isEmpty();

    gate.open();

    assertThat(order).containsExactly("after");
  }

  @Test
  void waitFor_eventNeverRecorded_waitsForNothing() {
    blocking.waitFor(context.createEvent(0));
    note(blocking, "after");

    assertThat(order).containsExactly("after");
  }

  @Test
  void waitFor_eventRecordedAgainLater_waitsForTheRecordAtTheCall() {
    SoftEvent event = context.createEvent(0);
    free.record(event);
    blocking.waitFor(event);
    hold(free);
    free.record(event);
    note(blocking, "after");

    assertThat(order).containsExactly("after");
  }

  @Test
  void waitFor_eventOfAnotherDevice_works() {
    SoftContext other = new SoftContext(gpu.device(1), 0);
    SoftStream stream = other.createStream(0, 0);
    SoftEvent event = other.createEvent(0);
    Gate gate = hold(stream);
    stream.record(event);
    blocking.waitFor(event);
    note(blocking, "after");
    assertThat(order).isEmpty();

    gate.open();

    assertThat(order).containsExactly("after");
  }

  @Test
  void completion_ofLegacyStream_waitsForBlockingStreams() {
    Gate gate = hold(blocking);
    Completion completion = legacy.completion();
    assertThat(completion.isDone()).isFalse();

    gate.open();

    assertThat(completion.isDone()).isTrue();
  }

  @Test
  void completion_ofContext_waitsForEveryStream() {
    Gate gate = hold(free);
    Gate other = hold(blocking);
    Completion completion = context.completion();

    gate.open();
    assertThat(completion.isDone()).isFalse();
    other.open();

    assertThat(completion.isDone()).isTrue();
  }

  @Test
  void completion_laterWork_isNotWaitedFor() {
    Completion completion = blocking.completion();
    hold(blocking);

    assertThat(completion.isDone()).isTrue();
    assertThat(blocking.completion().isDone()).isFalse();
  }

  @Test
  void destroy_streamBusy_itsWorkStillRunsAndLegacyStillWaits() {
    Gate gate = hold(blocking);
    note(blocking, "destroyed");
    blocking.destroy();
    note(legacy, "legacy");
    assertThat(order).isEmpty();

    gate.open();

    assertThat(order).containsExactly("destroyed", "legacy");
  }

  @Test
  void longChain_endsOneAnother_withoutDeepRecursion() throws InterruptedException {
    Gate gate = hold(blocking);
    int length = 50_000;
    int[] ended = {0};
    for (int index = 0; index < length; index++) {
      blocking.callHost(
          (status, done) -> {
            ended[0]++;
            done.run();
          },
          false);
    }

    gate.open();
    blocking.completion().await();

    assertThat(ended[0]).isEqualTo(length);
  }

  private Gate hold(SoftStream stream) {
    Gate gate = new Gate();
    stream.callHost(gate, false);
    return gate;
  }

  private void note(SoftStream stream, String name) {
    stream.callHost(
        (status, done) -> {
          assertThat(status).isEqualTo(CudaStatus.SUCCESS);
          order.add(name);
          done.run();
        },
        false);
  }
}
