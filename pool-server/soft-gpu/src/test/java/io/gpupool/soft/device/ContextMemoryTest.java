// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.device.context.PrimaryContext;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.soft.memory.Allocation;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class ContextMemoryTest {
  private static final long HALF = TestGpu.MEMORY_BYTES / 2;

  private final SoftGpu gpu = TestGpu.create();
  private final SoftDevice device = gpu.device(0);
  private final SoftContext context = new SoftContext(device, 0);
  private final SoftStream stream = context.createStream(0, 0);

  @AfterEach
  void close() {
    gpu.close();
  }

  @Test
  void free_contextIdle_freesAtOnce() {
    long address = context.allocate(HALF);
    context.free(address);

    assertThat(device.memory().usedBytes()).isZero();
  }

  @Test
  void free_workRunning_freesAfterItWithoutWaiting() {
    long address = context.allocate(4096);
    Gate gate = new Gate();
    stream.callHost(gate, false);

    context.free(address);

    assertThat(device.memory().usedBytes()).isPositive();
    assertThat(context.find(address)).isEmpty();
    assertStatus(() -> context.free(address), CudaStatus.INVALID_VALUE);
    gate.open();
    assertThat(device.memory().usedBytes()).isZero();
  }

  @Test
  void free_notOfTheProgram_isInvalid() {
    assertStatus(() -> context.free(12345), CudaStatus.INVALID_VALUE);
    long address = context.allocate(4096);
    assertStatus(() -> context.free(address + 256), CudaStatus.INVALID_VALUE);
  }

  @Test
  void find_innerAddress_givesTheAllocation() {
    long address = context.allocate(1000);

    Allocation found = context.find(address + 999).orElseThrow();

    assertThat(found.address()).isEqualTo(address);
    assertThat(found.sizeBytes()).isEqualTo(1000);
    assertThat(context.find(address + 1000)).isEmpty();
  }

  @Test
  void allocatePitched_oddWidth_alignsRows() {
    SoftContext.Pitched pitched = context.allocatePitched(1001, 10, 4);

    assertThat(pitched.pitchBytes()).isEqualTo(1024);
    assertThat(context.find(pitched.address()).orElseThrow().sizeBytes()).isEqualTo(10240);
    assertStatus(() -> context.allocatePitched(10, 10, 3), CudaStatus.INVALID_VALUE);
    assertStatus(() -> context.allocatePitched(1L << 62, 1L << 62, 4), CudaStatus.INVALID_VALUE);
  }

  @Test
  void freeAsync_streamBusy_freesInOrder() {
    long address = stream.allocate(device.defaultPool(), 4096);
    Gate gate = new Gate();
    stream.callHost(gate, false);
    Completion freed = stream.free(address);
    assertThat(freed.isDone()).isFalse();
    assertThat(device.memory().usedBytes()).isPositive();

    gate.open();

    assertThat(freed.isDone()).isTrue();
    assertThat(device.memory().usedBytes()).isZero();
  }

  @Test
  void pool_attributes_followUse() {
    SoftPool pool = device.defaultPool();
    long address = stream.allocate(pool, 1000);
    assertThat(pool.attribute(7)).isEqualTo(1000);
    stream.free(address);

    assertThat(pool.attribute(7)).isZero();
    assertThat(pool.attribute(8)).isEqualTo(1000);
    pool.setAttribute(8, 0);
    assertThat(pool.attribute(8)).isZero();
    pool.setAttribute(4, -1L);
    assertThat(pool.attribute(4)).isEqualTo(-1L);
    assertStatus(() -> pool.setAttribute(8, 1), CudaStatus.INVALID_VALUE);
    assertStatus(() -> pool.attribute(77), CudaStatus.INVALID_VALUE);
  }

  @Test
  void pool_ofItsOwn_keepsItsLimitAndOutlivesItsAllocations() {
    SoftPool pool = new SoftPool(device, 4096, false);
    long address = stream.allocate(pool, 4096);

    assertStatus(() -> stream.allocate(pool, 1), CudaStatus.OUT_OF_MEMORY);
    pool.destroy();
    assertStatus(() -> stream.allocate(pool, 1), CudaStatus.INVALID_VALUE);
    assertThat(context.find(address)).isPresent();
    stream.free(address);
    assertThat(device.memory().usedBytes()).isZero();
    assertStatus(() -> device.defaultPool().destroy(), CudaStatus.INVALID_VALUE);
  }

  @Test
  void allocate_fullButFreesQueued_waitsForThem() {
    long address = context.allocate(HALF + 1);
    SoftEvent event = context.createEvent(0);
    // Held by a work rather than a host task: no allocation waits while one of those runs.
    CompletableFuture<Void> hold = new CompletableFuture<>();
    stream.fill(address, 0, 0, 1, 1 << 20, 1);
    stream.read(address, 1 << 20, bytes -> hold.join());
    stream.record(event);
    context.free(address);
    CompletableFuture.runAsync(
        () -> hold.complete(null), CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS));

    long next = context.allocate(HALF + 1);

    assertThat(event.completion().isDone()).isTrue();
    context.free(next);
  }

  @Test
  void allocate_fullAndHostFunctionRuns_isOutOfMemoryAtOnce() {
    long address = context.allocate(HALF + 1);
    stream.callHost(new Gate(), false);
    context.free(address);

    assertStatus(() -> context.allocate(HALF + 1), CudaStatus.OUT_OF_MEMORY);
  }

  @Test
  void destroy_contextWithMemory_freesItWhenItsWorkIsDone() {
    context.allocate(4096);
    long ofPool = stream.allocate(device.defaultPool(), 4096);
    Gate gate = new Gate();
    stream.callHost(gate, false);

    context.destroy();

    assertThat(device.memory().usedBytes()).isEqualTo(8192);
    gate.open();
    assertThat(device.memory().usedBytes()).isEqualTo(4096);
    assertThat(device.memory().find(ofPool)).isPresent();
    assertStatus(() -> context.allocate(1), CudaStatus.CONTEXT_IS_DESTROYED);
    assertStatus(context::destroy, CudaStatus.CONTEXT_IS_DESTROYED);
  }

  @Test
  void primaryContext_retainedTwice_livesUntilReleasedTwice() {
    PrimaryContext owner = new PrimaryContext(device);
    SoftContext primary = owner.retain();
    assertThat(owner.retain()).isSameAs(primary);
    owner.release();
    primary.requireUsable();
    owner.release();

    assertStatus(primary::requireUsable, CudaStatus.CONTEXT_IS_DESTROYED);
    assertStatus(owner::release, CudaStatus.INVALID_CONTEXT);
    assertThat(owner.retain()).isNotSameAs(primary);
  }

  @Test
  void limits_setAndRead_areKept() {
    context.limits().set(1, 4 << 20);

    assertThat(context.limits().get(1)).isEqualTo(4 << 20);
    assertThat(context.limits().get(0)).isEqualTo(1024);
    assertStatus(() -> context.limits().get(3), CudaStatus.UNSUPPORTED_LIMIT);
    assertThat(context.limits().get(8)).as("shared with graphics").isZero();
    assertStatus(() -> context.limits().set(8, 1), CudaStatus.UNSUPPORTED_LIMIT);
    assertStatus(() -> context.limits().set(99, 1), CudaStatus.UNSUPPORTED_LIMIT);
    assertStatus(() -> context.limits().set(0, 1L << 40), CudaStatus.INVALID_VALUE);
  }
}
