// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.ControlOp;
import io.gpupool.cuda.Ops;
import io.gpupool.wire.TextMessage;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.UnixSocket;
import io.gpupool.worker.session.TestDriver;
import io.gpupool.worker.warmup.WarmUpFrames;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Sessions of the worker as a process, and its connection to the pool-server. */
class WorkerProcessTest extends WorkerProcessFixture {
  @Test
  void session_fromReadyToGoodbye_isServedCountedAndReported() throws Throwable {
    startSpare();
    int stream = attach();
    WarmUpFrames frames = new WarmUpFrames();
    frames.fenced(Ops.ctxRetainPrimary, 1, 0, 0);
    frames.fenced(Ops.memAlloc, 2, 5000, 1);
    frames.fenced(Ops.ctxSynchronize, 9);
    exchange(stream, frames);
    TextMessage stats;
    do {
      stats = control.receive().orElseThrow();
      assertThat(stats.type()).isEqualTo("stats");
    } while (!stats.get("calls").equals(Optional.of("3")));
    assertThat(stats.get("memory")).contains("5120");

    frames.posted(Ops.goodbye);
    send(stream, frames);
    TextMessage ended = control.receive().orElseThrow();
    while (ended.type().equals("stats")) {
      ended = control.receive().orElseThrow();
    }
    assertThat(ended.get("reason")).contains("goodbye");
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(worker.exitValue()).isZero();
    Posix.close(stream);
  }

  @Test
  void session_withAResumeWindow_goesOnWithALaterConnectionAndEndsWithoutOne() throws Throwable {
    startSpare();
    int stream = attach(null, "1500");
    WarmUpFrames frames = new WarmUpFrames();
    frames.fenced(Ops.ctxRetainPrimary, 9, 0, 0);
    exchange(stream, frames);
    Posix.close(stream);
    assertThat(nextButStats().type()).isEqualTo("disconnected");

    int later = connect();
    // The answers from the first on, and then the new one.
    frames.posted(ControlOp.RESUME, 0);
    exchange(later, frames);
    frames.fenced(Ops.memAlloc, 9, 5000, 1);
    exchange(later, frames);
    assertThat(nextButStats().type()).isEqualTo("resumed");

    Posix.close(later);
    TextMessage lost = nextButStats();
    assertThat(lost.type()).isEqualTo("disconnected");
    assertThat(lost.get("reason")).isPresent();
    TextMessage ended = nextButStats();
    assertThat(ended.type()).isEqualTo("ended");
    assertThat(ended.get("reason").orElseThrow())
        .contains("did not come back within its resume window of 1 s");
    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(worker.exitValue()).isZero();
  }

  @Test
  void kernelsOutput_onADriverThatPrintsItself_comesBeforeTheFence() throws Throwable {
    startSpare("--gpus", "all", "--libcuda", TestDriver.library().toString());
    int stream = attach();
    String image = "testcuda\nkernel print 8\nkernel sleep 8\n";
    WarmUpFrames frames = new WarmUpFrames();
    frames.fenced(Ops.ctxRetainPrimary, 1, 0, 0);
    frames.posted(Ops.imageBegin, 1, image.length());
    frames.postedText(Ops.imageData, image, 1);
    frames.fenced(Ops.moduleLoad, 2, 16, 1, -1, 0, 0, 0);
    frames.postedText(Ops.moduleBindFunction, "print", 16, 20);
    frames.postedText(Ops.moduleBindFunction, "sleep", 16, 21);
    frames.launch(Ops.launch, 20, 0);
    frames.fenced(Ops.ctxSynchronize, 9);
    assertThat(exchange(stream, frames)).isEqualTo("hello from the device\n");

    for (int round = 0; round < 50; round++) {
      frames.launch(Ops.launch, 21, round % 2 * 2000L);
      frames.launch(Ops.launch, 20, 0);
      frames.fenced(Ops.streamSynchronize, 9, 0);
      assertThat(exchange(stream, frames)).isEqualTo("hello from the device\n");
    }
    Posix.close(stream);
  }

  @Test
  void kernelsOutput_whenAnEventIsReachedAlready_comesBeforeTheFence() throws Throwable {
    startSpare("--gpus", "all", "--libcuda", TestDriver.library().toString());
    int stream = attach();
    String image = "testcuda\nkernel print 8\n";
    WarmUpFrames frames = new WarmUpFrames();
    frames.fenced(Ops.ctxRetainPrimary, 1, 0, 0);
    frames.posted(Ops.imageBegin, 1, image.length());
    frames.postedText(Ops.imageData, image, 1);
    frames.fenced(Ops.moduleLoad, 2, 16, 1, -1, 0, 0, 0);
    frames.postedText(Ops.moduleBindFunction, "print", 16, 20);
    frames.posted(Ops.eventCreate, 30, 0);
    frames.launch(Ops.launch, 20, 0);
    frames.posted(Ops.eventRecord, 30, 0, 0);
    frames.fenced(Ops.memGetInfo, 9, 0, 0);
    exchange(stream, frames);
    Thread.sleep(100);
    frames.fenced(Ops.eventSynchronize, 9, 30);
    assertThat(exchange(stream, frames)).isEqualTo("hello from the device\n");
    Posix.close(stream);
  }

  @Test
  void kernelsAssert_onADriverThatPrintsItself_isForTheProgramAndNotForTheServersLog()
      throws Throwable {
    startSpare("--gpus", "all", "--libcuda", TestDriver.library().toString());
    int stream = attach();
    String image = "testcuda\nkernel assert\n";
    WarmUpFrames frames = new WarmUpFrames();
    frames.fenced(Ops.ctxRetainPrimary, 1, 0, 0);
    frames.posted(Ops.imageBegin, 1, image.length());
    frames.postedText(Ops.imageData, image, 1);
    frames.fenced(Ops.moduleLoad, 2, 16, 1, -1, 0, 0, 0);
    frames.postedText(Ops.moduleBindFunction, "assert", 16, 20);
    frames.launch(Ops.launch, 20, 0);
    frames.fenced(Ops.ctxSynchronize, 9);

    assertThat(exchange(stream, frames, 710))
        .isEqualTo("stderr: kernel.cu:7: Assertion `false` failed.\n");
    assertThat(Files.readString(folder.resolve("errors"))).doesNotContain("Assertion");
    Posix.close(stream);
  }

  @Test
  void assignedGpu_thatIsAnotherThanTheServerMeans_isNotUsed() throws Throwable {
    startSpare("--gpus", "all", "--libcuda", TestDriver.library().toString());
    int stream = attach("GPU-74747474-7474-7474-7474-747474747400");

    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(worker.exitValue()).isEqualTo(1);
    assertThat(Files.readString(folder.resolve("errors")))
        .contains(
            "GPU 1 of the driver is 74747474-7474-7474-7474-747474747401, and the lease is of"
                + " GPU-74747474-7474-7474-7474-747474747400");
    Posix.close(stream);
  }

  @Test
  void controlConnection_closed_endsTheWorkerAtOnce() throws Throwable {
    startSpare();
    int stream = attach();

    socket().close();
    socket = null;

    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    Posix.close(stream);
  }

  @Test
  void controlConnection_closedBeforeAllWasRead_endsTheWorkerWithoutAWord() throws Throwable {
    worker = start("--control", "@" + name, "--gpus", "soft:1,mem=64Mi");
    UnixSocket unread = listener.accept();
    // The rest of the greeting stays unread, so that the worker's end is reset.
    assertThat(unread.read(ByteBuffer.allocate(1), 1)).isEqualTo(1);

    unread.close();

    assertThat(worker.waitFor()).isZero();
    assertThat(folder.resolve("errors")).isEmptyFile();
  }

  @Test
  void attach_beforeAssign_endsTheWorkerWithTheReason() throws Throwable {
    startSpare();
    control.send(TextMessage.ofType("attach").build());
    int[] pair = Posix.socketPair();
    socket().sendDescriptor(pair[1]);

    assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(worker.exitValue()).isEqualTo(1);
    assertThat(Files.readString(folder.resolve("errors"))).contains("before any assignment");
    Posix.close(pair[0]);
    Posix.close(pair[1]);
  }
}
