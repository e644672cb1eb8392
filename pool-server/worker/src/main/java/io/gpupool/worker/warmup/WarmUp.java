// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.warmup;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.ControlOp;
import io.gpupool.cuda.Ops;
import io.gpupool.soft.compile.cache.KernelCache;
import io.gpupool.soft.compile.cache.KernelStore;
import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.device.SoftGpu.MissingPtx;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.module.PtxModule;
import io.gpupool.worker.connection.ClearConnection;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.seal.SealWarmUp;
import io.gpupool.worker.session.ResumeWindow;
import io.gpupool.worker.session.Session;
import io.gpupool.worker.session.SessionPlan;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import io.gpupool.worker.soft.SoftBackend;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;

/**
 * Runs sessions against itself, so that the first real one finds its code loaded and compiled. A
 * spare worker does it before it says that it is ready.
 */
public final class WarmUp {
  private static final int MODULE = 16;
  private static final int FUNCTION = 17;
  private static final int STREAM = 18;
  private static final int EVENT = 19;
  private static final int REPLY = 1;
  private static final int TAG = 1;
  private static final int ADDRESS_TAG = 2;
  private static final int BUFFER_BYTES = 64 << 10;
  private static final long QUOTA_BYTES = 16L << 20;
  private static final long RESUME_WINDOW_MILLIS = 1000;
  private static final int BATCHES = 200;
  private static final int LAUNCHES_A_BATCH = 100;
  private static final int SOFT_BATCHES = 4;
  private static final String PTX =
      """
      .version 7.0
      .target sm_75
      .address_size 64
      .visible .entry warm(.param .u64 p) {
        .reg .b32 %r<4>;
        .reg .b64 %rd<5>;
        ld.param.u64 %rd1, [p];
        cvta.to.global.u64 %rd2, %rd1;
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd3, %r1, 4;
        add.s64 %rd4, %rd2, %rd3;
        st.global.u32 [%rd4], %r1;
        ret;
      }
      """;

  private WarmUp() {}

  /**
   * Warms up the session, and the software GPU if the worker has one.
   *
   * @param seals whether to warm up the seal of call streams, too
   * @param enough asked now and then; true once a real session is there, which needs the processor
   */
  public static void run(boolean soft, boolean seals, BooleanSupplier enough) {
    rehearse(new WarmUpBackend(), BATCHES, enough);
    if (seals) {
      SealWarmUp.run(enough);
    }
    if (soft && !enough.getAsBoolean()) {
      DeviceSpec spec = new DeviceSpec(1, QUOTA_BYTES, DeviceSpec.DEFAULT_COMPUTE_CAPABILITY);
      try (SoftBackend backend = new SoftBackend(spec, MissingPtx.SKIP)) {
        rehearse(backend, SOFT_BATCHES, enough);
      }
      rehearseCache();
    }
    if (!enough.getAsBoolean()) {
      Session.prepare();
    }
  }

  private static void rehearseCache() {
    try {
      PtxModule module = PtxModule.parse(PTX, DeviceSpec.DEFAULT_COMPUTE_CAPABILITY);
      KernelCache.on(KernelStore.NONE).rehearse(module, "warm");
    } catch (PtxException | CompileException e) {
      throw new IllegalStateException("the kernel for warming up", e);
    }
  }

  private static void rehearse(Backend backend, int batches, BooleanSupplier enough) {
    int[] pair = Posix.socketPair();
    List<LeasedGpu> gpus = List.of(new LeasedGpu(0, QUOTA_BYTES, 100));
    // As nearly all sessions are: one that outlives its connection.
    ResumeWindow resume = new ResumeWindow(RESUME_WINDOW_MILLIS, cause -> {}, () -> {});
    SessionPlan plan = SessionPlan.of(gpus, Ledger.alone(new long[] {QUOTA_BYTES}), resume);
    Session session = new Session(backend, plan, new ClearConnection(pair[1]));
    CompletableFuture<Long> allocated = new CompletableFuture<>();
    Thread client =
        Thread.ofPlatform().daemon().start(() -> play(pair[0], batches, enough, allocated));
    Thread drain = Thread.ofPlatform().daemon().start(() -> read(pair[0], allocated));
    session.welcome();
    session.run();
    Posix.shutdown(pair[1]);
    join(client);
    join(drain);
    Posix.close(pair[0]);
    Posix.close(pair[1]);
  }

  private static void play(
      int fd, int batches, BooleanSupplier enough, CompletableFuture<Long> allocated) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(BUFFER_BYTES);
      WarmUpFrames frames = new WarmUpFrames();
      frames.fenced(Ops.ctxRetainPrimary, TAG, 0, 0);
      frames.posted(Ops.imageBegin, 1, PTX.length() + 1);
      frames.postedText(Ops.imageData, PTX + "\0", 1);
      frames.fenced(Ops.moduleLoad, TAG, MODULE, 1, -1, 1024, 1024, 4096);
      frames.postedText(Ops.moduleBindFunction, "warm", MODULE, FUNCTION);
      frames.posted(Ops.streamCreate, STREAM, 0, 0);
      frames.posted(Ops.eventCreate, EVENT, 2);
      frames.fenced(Ops.memAlloc, ADDRESS_TAG, 4096, 1);
      frames.fenced(Ops.memGetInfo, TAG, 1, 1);
      send(fd, out, frames);
      long address = allocated.join();
      for (int batch = 0; batch < batches && !enough.getAsBoolean(); batch++) {
        for (int i = 0; i < LAUNCHES_A_BATCH; i++) {
          frames.launch(Ops.launch, FUNCTION, address);
        }
        frames.postedText(Ops.memcpyHtoD, "0123456789abcdef", address, 0);
        frames.fenced(Ops.memcpyDtoH, TAG, address, 16, 0);
        frames.posted(Ops.eventRecord, EVENT, STREAM, 0);
        frames.fenced(Ops.eventSynchronize, TAG, EVENT);
        frames.fenced(Ops.streamSynchronize, TAG, 0);
        frames.fenced(Ops.ctxSynchronize, TAG);
        frames.posted(ControlOp.ACKNOWLEDGE, 0, 1);
        send(fd, out, frames);
      }
      frames.posted(Ops.goodbye);
      send(fd, out, frames);
    }
  }

  private static void send(int fd, MemorySegment out, WarmUpFrames frames) {
    byte[] bytes = frames.take();
    MemorySegment.copy(bytes, 0, out, JAVA_BYTE, 0, bytes.length);
    Posix.sendAll(fd, out.address(), bytes.length, false);
  }

  /** Reads the answers to the end; only one of them matters. */
  private static void read(int fd, CompletableFuture<Long> allocated) {
    try (Arena arena = Arena.ofConfined()) {
      long in = arena.allocate(BUFFER_BYTES, 8).address();
      int end = 0;
      long count;
      while ((count = Posix.recv(fd, in + end, BUFFER_BYTES - end, 0)) > 0) {
        end += (int) count;
        int at = 0;
        while (end - at >= 16 && Memory.getInt(in + at) <= end - at) {
          if (Memory.getInt(in + at + 4) == REPLY && Memory.getInt(in + at + 8) == ADDRESS_TAG) {
            allocated.complete(Memory.getInt(in + at) > 16 ? Memory.getLong(in + at + 16) : 0L);
          }
          at += Memory.getInt(in + at);
        }
        Memory.copy(in + at, in, end - at);
        end -= at;
      }
    } finally {
      allocated.complete(0L);
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
