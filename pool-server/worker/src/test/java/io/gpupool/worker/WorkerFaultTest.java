// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.Ops;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.TestDriver;
import io.gpupool.worker.warmup.WarmUpFrames;
import java.nio.file.Files;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The worker as a process with a driver whose context has a fault. */
class WorkerFaultTest extends WorkerProcessFixture {
  /** A worker on the test driver with a kernel that ends with an error, which stays. */
  private int startFaulty(String afterFault, WarmUpFrames frames) throws Throwable {
    return startFaulty(afterFault, frames, null);
  }

  private int startFaulty(String afterFault, WarmUpFrames frames, @Nullable String resumeWindow)
      throws Throwable {
    startSpareIn(
        Map.of("TESTCUDA_AFTER_FAULT", afterFault),
        "--gpus",
        "all",
        "--libcuda",
        TestDriver.library().toString());
    int stream = attach(null, resumeWindow);
    String image = "testcuda\nkernel fault\nkernel sleep 8\n";
    frames.fenced(Ops.ctxRetainPrimary, 1, 0, 0);
    frames.posted(Ops.imageBegin, 1, image.length());
    frames.postedText(Ops.imageData, image, 1);
    frames.fenced(Ops.moduleLoad, 2, 16, 1, -1, 0, 0, 0);
    frames.postedText(Ops.moduleBindFunction, "fault", 16, 20);
    frames.postedText(Ops.moduleBindFunction, "sleep", 16, 21);
    return stream;
  }

  @Test
  void program_thatGoesWhileTheDriverNeverReturns_takesTheWorkerWithItInSpiteOfAWindow()
      throws Throwable {
    WarmUpFrames frames = new WarmUpFrames();
    int stream = startFaulty("hangs", frames, "1000");
    frames.launch(Ops.launch, 20, 0);
    frames.fenced(Ops.ctxSynchronize, 9);
    exchange(stream, frames, 700);

    frames.fenced(Ops.ctxResetPrimary, 9, 0);
    send(stream, frames);
    Posix.close(stream);
    assertThat(worker.waitFor(60, TimeUnit.SECONDS)).as("the worker ends").isTrue();
    assertThat(Files.readString(folder.resolve("errors"))).contains("a kernel may not end");
  }

  @Test
  void kernelsFault_thatNoResetEnds_isAnsweredByAllCalls() throws Throwable {
    WarmUpFrames frames = new WarmUpFrames();
    int stream = startFaulty("stays", frames);
    frames.launch(Ops.launch, 20, 0);
    frames.fenced(Ops.ctxSynchronize, 9);
    exchange(stream, frames, 700);

    frames.fenced(Ops.memAlloc, 9, 4096, 1);
    exchange(stream, frames, 700);
    frames.fenced(Ops.ctxResetPrimary, 9, 0);
    exchange(stream, frames, 700);
    frames.fenced(Ops.memAlloc, 9, 4096, 1);
    exchange(stream, frames, 700);
    frames.fenced(Ops.ctxSynchronize, 9);
    exchange(stream, frames, 700);
    Posix.close(stream);
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void contextWithAFault_thatTheDriverDoesNotTakeDown_endsTheSessionWithTheReason()
      throws Throwable {
    WarmUpFrames frames = new WarmUpFrames();
    int stream = startFaulty("hangs", frames);
    frames.launch(Ops.launch, 20, 0);
    frames.fenced(Ops.ctxSynchronize, 9);
    exchange(stream, frames, 700);

    frames.fenced(Ops.ctxResetPrimary, 9, 0);
    send(stream, frames);
    long buffer = Posix.map(4096);
    receive(stream, buffer, 16);
    assertThat(Memory.getInt(buffer + 4)).isEqualTo(FATAL);
    receive(stream, buffer + 16, Memory.getInt(buffer) - 16);
    assertThat(Memory.text(buffer + 16, 200)).contains("has not taken down a context");
    assertThat(worker.waitFor(60, TimeUnit.SECONDS)).as("the worker ends").isTrue();
    assertThat(Files.readString(folder.resolve("errors"))).contains("a kernel may not end");
    Posix.close(stream);
  }

  @Test
  void program_thatGoesWhileItsContextWaitsForAKernelWithoutEnd_takesTheWorkerWithIt()
      throws Throwable {
    WarmUpFrames frames = new WarmUpFrames();
    int stream = startFaulty("goes", frames);
    frames.launch(Ops.launch, 21, 3_600_000_000L);
    frames.fenced(Ops.ctxSynchronize, 9);
    frames.posted(Ops.ctxReleasePrimary, 0);
    send(stream, frames);
    Thread.sleep(1000);
    Posix.close(stream);
    assertThat(worker.waitFor(60, TimeUnit.SECONDS)).as("the worker ends").isTrue();
  }
}
