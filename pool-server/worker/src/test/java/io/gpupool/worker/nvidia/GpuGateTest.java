// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.BackendTraits.Caller;
import io.gpupool.cuda.DriverTime;
import io.gpupool.worker.nvidia.GpuGate.Limits;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class GpuGateTest {
  private static final long MILLI = 1_000_000;
  private static final long BOUND_NANOS = 4 * MILLI;

  /** Later than any test ends, so that no work is given up for lasting too long. */
  private static final long NEVER_NANOS = 1_000_000 * MILLI;

  private static final long CONTEXT = 7;
  private static final long STREAM = 8;
  private static final long KERNEL = 9L << 32;

  private final Driver driver = new Driver();
  private final TestSlice slice = new TestSlice();
  private final AtomicInteger hostFunctions = new AtomicInteger();
  private final AtomicInteger looks = new AtomicInteger();
  private final Caller caller =
      new Caller() {
        @Override
        public boolean hasHostFunctions() {
          return hostFunctions.get() > 0;
        }

        @Override
        public void lookAround() {
          looks.incrementAndGet();
        }
      };
  private GpuGate gate =
      new GpuGate(0, slice, driver, caller, new Limits(BOUND_NANOS, NEVER_NANOS));
  private final List<Thread> threads = new ArrayList<>();

  @AfterEach
  void finish() throws InterruptedException {
    driver.finishAll = true;
    slice.sliceState = DriverTime.SliceState.UNCONTENDED;
    hostFunctions.set(0);
    for (Thread thread : threads) {
      thread.join();
    }
  }

  /** A driver whose events are reached when a test says so, at times that it says. */
  private static final class Driver implements TimingEvents {
    private final Set<Long> reached = new HashSet<>();
    private long events;
    volatile long nanosBetweenEvents;
    volatile boolean finishAll;

    @Override
    public long select(long context) {
      return context;
    }

    @Override
    public synchronized long record(long context, long stream) {
      return ++events;
    }

    @Override
    public synchronized boolean isReached(long event) {
      return finishAll || reached.contains(event);
    }

    @Override
    public long elapsedNanos(long from, long to) {
      return (to - from) * nanosBetweenEvents;
    }

    @Override
    public void release(long context, long event) {}

    @Override
    public void forget(long context) {}

    synchronized void reachAll() {
      for (long event = 1; event <= events; event++) {
        reached.add(event);
      }
    }
  }

  /** A lease's time slice, as a test has it. */
  private static final class TestSlice implements DriverTime {
    volatile SliceState sliceState = SliceState.UNCONTENDED;
    final AtomicInteger passes = new AtomicInteger();
    final AtomicInteger ends = new AtomicInteger();
    final AtomicLong usedNanos = new AtomicLong();

    @Override
    public SliceState renew(long nowNanos) {
      return sliceState;
    }

    @Override
    public void workFinished() {}

    @Override
    public void addMeasured(long nanos) {
      usedNanos.addAndGet(nanos);
    }

    @Override
    public long begin(Use use, long nowNanos) {
      return nowNanos;
    }

    @Override
    public void end(long nowNanos) {
      ends.incrementAndGet();
    }

    @Override
    public boolean isOver() {
      return sliceState == SliceState.ENDED;
    }

    @Override
    public long pass(Use use) {
      passes.incrementAndGet();
      sliceState = SliceState.CONTENDED;
      return 0;
    }
  }

  private void submit(long key) {
    gate.enter(CONTEXT, STREAM, key);
    gate.exit(0);
  }

  /** Submits until it has to wait; how many it has submitted, then and later. */
  private AtomicInteger submitMany(int count, long key) {
    AtomicInteger submitted = new AtomicInteger();
    threads.add(
        Thread.ofPlatform()
            .start(() -> {
              for (int i = 0; i < count; i++) {
                submit(key);
                submitted.incrementAndGet();
              }
            }));
    return submitted;
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    while (!condition.getAsBoolean()) {
      Thread.sleep(1);
    }
  }

  /** Has the gate know a kernel's cost. */
  private void teach(long key, long nanos) throws InterruptedException {
    slice.sliceState = DriverTime.SliceState.CONTENDED;
    driver.nanosBetweenEvents = nanos;
    long before = slice.usedNanos.get();
    submit(key);
    gate.look();
    driver.reachAll();
    await(() -> slice.usedNanos.get() > before);
  }

  private void staysAt(AtomicInteger submitted, int count) throws InterruptedException {
    await(() -> submitted.get() >= count);
    Thread.sleep(20);
    assertThat(submitted).hasValue(count);
  }

  @Test
  void operations_ofUnknownCost_goOneByOneWhileOthersWantTheGpu() throws Exception {
    slice.sliceState = DriverTime.SliceState.CONTENDED;
    AtomicInteger submitted = submitMany(2, KERNEL);
    staysAt(submitted, 1);
    driver.reachAll();
    await(() -> submitted.get() == 2);
  }

  @Test
  void operations_ofKnownCost_areBoundedByTheTimeTheyTake() throws Exception {
    teach(KERNEL, MILLI);
    AtomicInteger submitted = submitMany(6, KERNEL);
    staysAt(submitted, 4);
    driver.reachAll();
    await(() -> submitted.get() == 6);
  }

  @Test
  void operations_underAnotherBound_areFewerOrMore() throws Exception {
    gate = new GpuGate(0, slice, driver, caller, new Limits(2 * MILLI, NEVER_NANOS));
    teach(KERNEL, MILLI);
    staysAt(submitMany(6, KERNEL), 2);
    driver.finishAll = true;
    for (Thread thread : threads) {
      thread.join();
    }
    driver.finishAll = false;
    gate = new GpuGate(0, slice, driver, caller, new Limits(8 * MILLI, NEVER_NANOS));
    teach(KERNEL, MILLI);
    staysAt(submitMany(12, KERNEL), 8);
  }

  @Test
  void operation_longerThanTheBound_goesAlone() throws Exception {
    teach(KERNEL, 50 * MILLI);
    AtomicInteger submitted = submitMany(2, KERNEL);
    staysAt(submitted, 1);
    driver.reachAll();
    await(() -> submitted.get() == 2);
  }

  @Test
  void slice_thatIsOver_goesOnceAllIsDone() throws Exception {
    teach(KERNEL, MILLI);
    submit(KERNEL);
    slice.sliceState = DriverTime.SliceState.ENDED;
    AtomicInteger submitted = submitMany(1, KERNEL);
    staysAt(submitted, 0);
    assertThat(slice.passes).hasValue(0);
    driver.reachAll();
    await(() -> submitted.get() == 1);
    assertThat(slice.passes).hasValue(1);
  }

  @Test
  void work_thatDoesNotEnd_doesNotKeepTheTimeSlice() throws Exception {
    gate = new GpuGate(0, slice, driver, caller, new Limits(BOUND_NANOS, 20 * MILLI));
    teach(KERNEL, MILLI);
    submit(KERNEL);
    slice.sliceState = DriverTime.SliceState.ENDED;
    AtomicInteger submitted = submitMany(1, KERNEL);
    await(() -> submitted.get() == 1);
    assertThat(slice.passes).hasValue(1);
  }

  @Test
  void work_thatIsDone_endsTheUseOfTheGpuWithoutAnotherCall() throws Exception {
    slice.sliceState = DriverTime.SliceState.CONTENDED;
    submit(KERNEL);
    driver.nanosBetweenEvents = MILLI;
    driver.finishAll = true;
    await(() -> slice.ends.get() == 1);
    assertThat(slice.usedNanos).hasValue(MILLI);
  }

  @Test
  void operations_behindAHostFunction_areFewerThanADriverTakes() throws Exception {
    teach(KERNEL, 1);
    slice.sliceState = DriverTime.SliceState.UNCONTENDED;
    await(() -> slice.ends.get() > 0);
    hostFunctions.set(1);
    AtomicInteger submitted = submitMany(600, KERNEL);
    staysAt(submitted, 512);
    assertThat(looks).as("looks for the host function's end").hasPositiveValue();
    driver.finishAll = true;
    await(() -> submitted.get() == 600);
  }

  @Test
  void operations_ofALeaseThatIsAlone_areNotMeasuredOneByOne() throws Exception {
    teach(KERNEL, 1000);
    slice.sliceState = DriverTime.SliceState.UNCONTENDED;
    await(() -> slice.ends.get() > 0);
    long before = driver.record(CONTEXT, STREAM);
    for (int i = 0; i < 1000; i++) {
      submit(KERNEL);
    }
    assertThat(driver.record(CONTEXT, STREAM) - before).isLessThan(20);
  }

  @Test
  void operation_thatTheDriverRefuses_teachesNothing() throws Exception {
    teach(KERNEL, MILLI);
    gate.enter(CONTEXT, STREAM, KERNEL);
    gate.exit(1);
    driver.nanosBetweenEvents = 50 * MILLI;
    gate.look();
    driver.reachAll();
    int ends = slice.ends.get();
    await(() -> slice.ends.get() > ends);
    AtomicInteger submitted = submitMany(5, KERNEL);
    staysAt(submitted, 4);
  }

  @Test
  void context_thatEnds_leavesNothingToWaitFor() throws Exception {
    teach(KERNEL, 3 * MILLI);
    submit(KERNEL);
    gate.endContext(CONTEXT);
    AtomicInteger submitted = submitMany(1, KERNEL);
    await(() -> submitted.get() == 1);
  }
}
