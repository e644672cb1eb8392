// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.assertStatus;
import static io.gpupool.soft.device.TestGpu.readBytes;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.Dim3;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.module.SoftModule;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.device.spec.Limits;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.soft.image.DeviceImage;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Kernels that launch kernels: their order, their end, and what they may not do. */
@Timeout(60)
final class NestedLaunchTest {
  private static final int WORDS = 64;

  private final SoftGpu gpu = TestGpu.create();
  private final SoftContext context = new SoftContext(gpu.device(0), 0);
  private final SoftStream stream = context.createStream(SoftStream.NON_BLOCKING, 0);
  private final long out = context.allocate(4 * WORDS);

  @AfterEach
  void close() {
    gpu.close();
  }

  private static DeviceImage image(String text) {
    return DeviceImage.parse(MemorySegment.ofArray(text.getBytes(StandardCharsets.US_ASCII)), 90);
  }

  private SoftModule load() {
    try (InputStream in = NestedLaunchTest.class.getResourceAsStream("/kernels/nested.ptx")) {
      return SoftModule.load(
          context, image(new String(in.readAllBytes(), StandardCharsets.US_ASCII)));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private Completion launch(SoftModule module, String kernel, long argument) {
    stream.fill(out, 0, 0, 4 * WORDS, 1, 1);
    ByteBuffer params = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN).putLong(0, argument);
    return module
        .function(kernel)
        .launch(
            stream,
            new LaunchShape(new Dim3(1), new Dim3(1), 0, false),
            MemorySegment.ofArray(params.array()));
  }

  private int[] words(int count) throws InterruptedException {
    int[] words = new int[count];
    ByteBuffer.wrap(readBytes(stream, out, 4 * count))
        .order(ByteOrder.LITTLE_ENDIAN)
        .asIntBuffer()
        .get(words);
    context.requireUsable();
    return words;
  }

  private int[] run(String kernel, int count) throws InterruptedException {
    launch(load(), kernel, out);
    return words(count);
  }

  @Test
  void launches_inAllStreams_keepTheirOrderAndEndWithTheParent() throws InterruptedException {
    int[] log = run("streams", 6);

    assertThat(log[0]).isEqualTo(5);
    assertThat(Arrays.copyOfRange(log, 1, 4)).containsExactlyInAnyOrder(1, 2, 5);
    assertThat(Arrays.copyOfRange(log, 1, 4)).containsSubsequence(1, 2);
    assertThat(Arrays.copyOfRange(log, 4, 6)).containsExactly(8, 9);
    assertThat(gpu.device(0).usage().launches()).isEqualTo(6);
  }

  @Test
  void event_ofOneStream_holdsAnotherBack() throws InterruptedException {
    assertThat(run("events", 7)).startsWith(2, 1, 2).endsWith(0, 400, 1);
  }

  @Test
  void launch_ofItself_nests24Deep() throws InterruptedException {
    assertThat(run("deep", 2)).containsExactly(24, 65);
  }

  @Test
  void launches_withBuffersOfTheirAncestor_nest24Deep() throws InterruptedException {
    assertThat(run("hands_down", 2)).containsExactly(24, 65);
  }

  @Test
  void launches_behindOneThatHolds_arePendingUpToTheLimit() throws InterruptedException {
    SoftModule module = load();
    context.setLimit(Limits.PENDING_LAUNCH_COUNT, 5);
    launch(module, "many", out);

    assertThat(words(4)).containsExactly(5, 69, 1, 5);
    for (int round = 0; round < 3; round++) {
      launch(module, "many", out);
      assertThat(words(4)).as("all are given back").containsExactly(5, 69, 1, 5);
    }
  }

  @Test
  void pendingLimit_ofMoreThanCanBeReserved_isRefused() {
    assertStatus(
        () -> context.setLimit(Limits.PENDING_LAUNCH_COUNT, 1 << 20), CudaStatus.OUT_OF_MEMORY);
    context.setLimit(Limits.PENDING_LAUNCH_COUNT, 0);
    assertThat(context.limits().get(Limits.PENDING_LAUNCH_COUNT)).isZero();
  }

  @Test
  void fault_ofAChild_isTheContexts() throws InterruptedException {
    launch(load(), "breaks", 16).await();

    assertStatus(context::requireUsable, CudaStatus.ILLEGAL_ADDRESS);
    assertThat(context.fault().orElseThrow()).hasMessageContaining("kernel set");
  }

  @Test
  void child_thatRunsOn_keepsTheStreamAndItsEventsWaiting() throws InterruptedException {
    SoftEvent event = context.createEvent(0);
    SoftModule module = load();
    Completion launched = launch(module, "holds", out);
    stream.record(event);
    SoftStream other = context.createStream(SoftStream.NON_BLOCKING, 0);
    awaitLaunches(2);
    assertThat(launched.isDone()).isFalse();
    assertThat(event.completion().isDone()).isFalse();

    gpu.device(0).memory().view(out, 4).set(ValueLayout.JAVA_INT, 0, 1);
    event.completion().await();

    other.completion().await();
    context.requireUsable();
  }

  @ParameterizedTest
  @CsvSource({"forever, 300", "ever_more, 128"})
  void launches_withoutEnd_endWithTheDevice(String kernel, int launches)
      throws InterruptedException {
    launch(load(), kernel, out);
    awaitLaunches(launches);

    gpu.close();

    assertStatus(() -> gpu.device(0).memory().allocate(1, this), CudaStatus.DEINITIALIZED);
  }

  private void awaitLaunches(int launches) throws InterruptedException {
    while (gpu.device(0).usage().launches() < launches) {
      Thread.sleep(1);
    }
  }

  @Test
  void transfers_ofAKernel_areMadeInOrder() throws InterruptedException {
    launch(load(), "transfers", out);
    byte[] bytes = readBytes(stream, out, 64);
    context.requireUsable();

    for (int i = 0; i < 60; i++) {
      boolean filled = i < 13 || i >= 19 && i < 32 || i >= 40 && i < 48;
      assertThat(bytes[i]).as("byte %s", i).isEqualTo((byte) (filled ? 0x4A : 0));
    }
    assertThat(bytes[60]).as("copy from the host").isEqualTo((byte) 21);
  }

  @Test
  void errorTexts_areInDeviceMemory() throws InterruptedException {
    launch(load(), "texts", out);
    ByteBuffer places = ByteBuffer.wrap(readBytes(stream, out, 16)).order(ByteOrder.LITTLE_ENDIAN);

    assertThat(text(places.getLong(0))).isEqualTo("cudaErrorLaunchPendingCountExceeded");
    assertThat(text(places.getLong(8))).isEqualTo("unrecognized error code");
  }

  private String text(long address) {
    return gpu.device(0).memory().view(address, 64).getString(0, StandardCharsets.US_ASCII);
  }

  @Test
  void wrongArguments_areErrorsOfTheCallingThread() throws InterruptedException {
    assertThat(run("wrong", 18)).startsWith(400, 0, 1, 1, 9, 98, 0).endsWith(1, 3);
  }

  private static final String HEAD = ".version 8.0\n.target sm_70\n.address_size 64\n";

  @Test
  void devices_whereTheProgramSeesSome_areCountedAndNumberedAsItDoes() throws InterruptedException {
    String asks =
        HEAD
            + """
            .extern .func (.param .b32 r) cudaGetDeviceCount(.param .b64 count);
            .extern .func (.param .b32 r) cudaGetDevice(.param .b64 device);
            .extern .func (.param .b32 r) cudaDeviceGetAttribute(.param .b64 value,
              .param .b32 attribute, .param .b32 device);
            .visible .entry asks(.param .u64 at)
            {
              .reg .b64 %at, %next;
              .reg .b32 %e;
              ld.param.u64 %at, [at];
              call.uni (%e), cudaGetDeviceCount, (%at);
              add.u64 %next, %at, 4;
              call.uni (%e), cudaGetDevice, (%next);
              add.u64 %next, %at, 12;
              call.uni (%e), cudaDeviceGetAttribute, (%next, 10, 1);
              st.global.u32 [%at+8], %e;
              ret;
            }
            """;
    gpu.setVisible(List.of(1));
    SoftContext second = new SoftContext(gpu.device(1), 0);
    SoftStream its = second.legacyStream();
    long at = second.allocate(16);
    SoftModule.load(second, image(asks))
        .function("asks")
        .launch(
            its,
            new LaunchShape(new Dim3(1), new Dim3(1), 0, false),
            MemorySegment.ofArray(new long[] {at}));

    ByteBuffer told = ByteBuffer.wrap(readBytes(its, at, 16)).order(ByteOrder.LITTLE_ENDIAN);
    second.requireUsable();
    assertThat(told.getInt(0)).as("devices").isEqualTo(1);
    assertThat(told.getInt(4)).as("device").isZero();
    assertThat(told.getInt(8)).as("of a device out of sight").isEqualTo(101);
  }

  @Test
  void kernelThatCannotRun_isRefusedWithTheLaunchThatMayLaunchIt() {
    SoftModule module =
        SoftModule.load(
            context,
            image(
                HEAD
                    + """
                    .extern .func (.param .b32 r) cudaGetLastError();
                    .visible .entry child() { tcgen05.fence::before_thread_sync; ret; }
                    .visible .entry parent()
                    {
                      .reg .b64 %f;
                      .reg .b32 %e;
                      mov.u64 %f, child;
                      call.uni (%e), cudaGetLastError, ();
                      ret;
                    }
                    """));

    assertStatus(() -> launch(module, "parent", 0), CudaStatus.NOT_SUPPORTED);
  }

  @Test
  void function_declaredOtherwise_isRefused() {
    SoftModule module =
        SoftModule.load(
            context,
            image(
                HEAD
                    + """
                    .extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b32 buffer);
                    .visible .entry parent()
                    {
                      .reg .b32 %e;
                      call.uni (%e), cudaLaunchDeviceV2, (7);
                      ret;
                    }
                    """));

    assertStatus(() -> launch(module, "parent", 0), CudaStatus.NOT_SUPPORTED);
  }
}
