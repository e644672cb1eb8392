// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.gpupool.cuda.Ops;
import io.gpupool.worker.session.Request;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Sessions that move between the modelled GPUs of NVIDIA's backend. */
class WorkerMoveNvidiaTest extends WorkerMoveFixture {
  private static final Path MODEL = Path.of("../model-gpu/target/libcuda.so.1").toAbsolutePath();
  private static final Path CARDS = Path.of("/dev/shm");
  private static final long QUOTA_BYTES = 1L << 30;
  private static final int LARGE_BYTES = 5 << 20;
  private static final int BLOCK_BYTES = 2 << 20;
  private static final int MODULE = 16;
  private static final int WORK = 17;
  private static final int STREAM = 18;
  private static final int START = 19;
  private static final int END = 20;
  private static final int BLOCK = 21;

  private static final String VERSION = ".version 8.0\n.target sm_90\n.address_size 64\n";
  private static final String PTX =
      VERSION
          + ".visible .global .align 4 .u32 counter = 41;\n"
          + ".visible .entry for_us_100(.param .u64 p) { ret; }\n";
  private static final String PTX_WITH_MALLOC =
      VERSION
          + """
          .extern .func (.param .b64 r) malloc (.param .b64 bytes);
          .visible .entry fill(.param .u64 p) {
            .reg .b64 %rd<2>;
            ld.param.u64 %rd1, [p];
            { .param .b64 in; st.param.b64 [in], %rd1; .param .b64 out;
              call.uni (out), malloc, (in); }
            ret;
          }
          """;

  private final String cards = "worker-move-" + UUID.randomUUID();

  /** Where the session has something, which its program knows. */
  private long small;

  private long large;
  private long mapped;
  private long counter;

  @AfterEach
  void removeCards() throws IOException {
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(CARDS, "gpupool-model-" + cards + "-*")) {
      for (Path card : files) {
        Files.delete(card);
      }
    }
  }

  private void startWorkers(String model, String... options) throws Throwable {
    assumeThat(MODEL).as("the modelled driver").exists();
    List<String> all = new ArrayList<>(List.of("--gpus", "all", "--libcuda", MODEL.toString()));
    all.addAll(List.of("--libnvml", MODEL.resolveSibling("libnvidia-ml.so.1").toString()));
    all.addAll(List.of(options));
    String told = "name=" + cards + ",gpus=2,mem=2Gi,context=64Mi" + model;
    startBoth(Map.of("GPUPOOL_MODEL", told), QUOTA_BYTES, all.toArray(String[]::new));
    frames.fenced(Ops.ctxRetainPrimary, 9, 0, 0);
    call();
  }

  private void loadModule(String text) {
    frames.posted(Ops.imageBegin, 1, text.length() + 1);
    frames.postedText(Ops.imageData, text + "\0", 1);
    frames.fenced(Ops.moduleLoad, 9, MODULE, 1, -1, 0, 0, 0);
    frames.posted(Ops.imageDrop, 1);
    call();
  }

  private long allocate(long lengthBytes) {
    frames.fenced(Ops.memAlloc, 9, lengthBytes, 1);
    return number(call());
  }

  private void write(long address, String text) {
    frames.postedText(Ops.memcpyHtoD, text, address, 0);
  }

  private String read(long address, int lengthBytes) {
    frames.fenced(Ops.memcpyDtoH, 8, address, lengthBytes, 0);
    return new String(call(), StandardCharsets.UTF_8);
  }

  private void synchronize() {
    frames.fenced(Ops.ctxSynchronize, 9);
    call();
  }

  /** A program with something of all kinds that move. */
  private void startProgram() throws Throwable {
    loadModule(PTX);
    counter = number(call(Request.fenced(Ops.moduleGetGlobal, 1, 9, MODULE, "counter", 1, 1)));
    frames.postedText(Ops.moduleBindFunction, "for_us_100", MODULE, WORK);
    frames.posted(Ops.streamCreate, STREAM, 0, 0);
    frames.posted(Ops.eventCreate, START, 0);
    frames.posted(Ops.eventCreate, END, 0);
    final long gone = allocate(300_000);
    final long goneInOrder = allocate(LARGE_BYTES);
    small = allocate(100_000);
    large = allocate(LARGE_BYTES);
    frames.posted(Ops.memFree, gone);
    frames.posted(Ops.memFreeAsync, goneInOrder, STREAM);
    frames.posted(Ops.eventRecord, START, STREAM, 0);
    frames.launch(Ops.launch, WORK, small);
    frames.posted(Ops.eventRecord, END, 0, 0);
    frames.fenced(Ops.vmReserve, 9, 2 * BLOCK_BYTES, 0, 0, 1);
    mapped = number(call());
    frames.fenced(Ops.vmCreate, 9, BLOCK, 0, BLOCK_BYTES, 0);
    call();
    frames.fenced(Ops.vmMap, 9, mapped, BLOCK_BYTES, 0, BLOCK);
    call();
    frames.fenced(Ops.vmSetAccess, 9, mapped, BLOCK_BYTES, 0, 3);
    call();
    write(small + 70_000, "small");
    write(large + LARGE_BYTES - 5, "large");
    write(mapped + BLOCK_BYTES - 6, "mapped");
    write(counter, "four");
    synchronize();
  }

  private void requireSameMemory() {
    assertThat(read(small + 70_000, 5)).isEqualTo("small");
    assertThat(read(large + LARGE_BYTES - 5, 5)).isEqualTo("large");
    assertThat(read(mapped + BLOCK_BYTES - 6, 6)).isEqualTo("mapped");
    assertThat(read(counter, 4)).isEqualTo("four");
    frames.launch(Ops.launch, WORK, small);
    synchronize();
  }

  private byte[] elapsed() {
    frames.fenced(Ops.cuEventElapsedTime_v2, 9, 1, START, END);
    return call();
  }

  private void requireRefused(String reason) throws Throwable {
    assignTarget(QUOTA_BYTES);
    connectWorkers();
    assertThat(next(fromSource, "moveFailed").require("reason")).contains(reason);
    resume(control, socket());
    synchronize();
  }

  @Test
  void session_thatMoves_hasTheSameMemoryModulesAndEventsUnderTheSameNumbers() throws Throwable {
    startWorkers("", "--movable");
    startProgram();
    final byte[] elapsed = elapsed();
    assignTarget(QUOTA_BYTES);
    connectWorkers();
    next(fromTarget, "restored");
    targetServerKnows();
    assertThat(Long.parseLong(next(fromSource, "moved").require("bytes")))
        .isGreaterThan(LARGE_BYTES + BLOCK_BYTES);
    decide(1);
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();

    resume(targetControl(), Objects.requireNonNull(targetSocket));
    assertThat(elapsed()).isEqualTo(elapsed);
    requireSameMemory();
    long next = allocate(100_000);
    assertThat(next)
        .satisfiesAnyOf(
            at -> assertThat(at).isGreaterThanOrEqualTo(small + 100_000),
            at -> assertThat(at).isLessThanOrEqualTo(small - 100_000));
    frames.posted(Ops.memFree, small);
    frames.posted(Ops.memFree, large);
    frames.fenced(Ops.vmUnmap, 9, mapped, BLOCK_BYTES);
    call();
    frames.fenced(Ops.vmFree, 9, mapped, 2 * BLOCK_BYTES);
    call();
  }

  @Test
  void session_thatStays_goesOnWhereItWas() throws Throwable {
    startWorkers("", "--movable");
    startProgram();
    assignTarget(QUOTA_BYTES);
    connectWorkers();
    next(fromTarget, "restored");
    targetServerKnows();
    next(fromSource, "moved");
    decide(0);

    resume(control, socket());
    requireSameMemory();
  }

  @Test
  void session_whoseVariablesComeToOtherAddresses_goesOnWhereItWas() throws Throwable {
    startWorkers(",variables=1", "--movable");
    startProgram();
    requireRefused("the address of the variable counter is another than it was");
    requireSameMemory();
  }

  @Test
  void session_thatHasNoRoomAtTheTarget_goesOnWhereItWas() throws Throwable {
    startWorkers("", "--movable");
    startProgram();
    assignTarget(66L << 20);
    connectWorkers();
    assertThat(next(fromSource, "moveFailed").require("reason")).contains("CUDA error 2");

    resume(control, socket());
    requireSameMemory();
  }

  @Test
  void session_withMemoryOfAPool_isRefused() throws Throwable {
    startWorkers("", "--movable");
    frames.fenced(Ops.memAllocAsync, 9, 1000, 0, 0, 1);
    call();
    requireRefused("it has memory from a pool, whose addresses the driver chooses, which cannot");
  }

  @Test
  void session_whoseDriverGivesOtherAddresses_worksAndStays() throws Throwable {
    startWorkers(",hints=0", "--movable");
    requireRefused("it has addresses that its driver has chosen in place of those wanted, which");
    startProgram();
    requireSameMemory();
  }

  @Test
  void session_withAnArray_isRefused() throws Throwable {
    startWorkers("", "--movable");
    frames.fenced(Ops.arrayCreate, 9, 25, 64, 0, 0, 0x20, 1, 0);
    call();
    requireRefused("it has arrays, whose bytes the driver places by itself, which cannot move");
  }

  @Test
  void session_withKernelsThatAllocate_isRefused() throws Throwable {
    startWorkers("", "--movable");
    loadModule(PTX_WITH_MALLOC);
    requireRefused("it has kernels with malloc, whose heap cannot be read, which cannot move");
  }

  @Test
  void session_withAMappingToBeReadAlone_isRefused() throws Throwable {
    startWorkers("", "--movable");
    startProgram();
    frames.fenced(Ops.vmSetAccess, 9, mapped, BLOCK_BYTES, 0, 1);
    call();
    requireRefused("it has a mapping that its GPU may not read and write, which cannot move");
  }

  @Test
  void session_ofADriverThatChoosesAddresses_isRefusedWithTheOption() throws Throwable {
    startWorkers("");
    assignTarget(QUOTA_BYTES);
    connectWorkers();
    assertThat(next(fromSource, "moveFailed").require("reason"))
        .contains("the driver of its GPU chooses addresses by itself")
        .contains("--movable");
    synchronize();
  }
}
