// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.DriverTime;
import io.gpupool.soft.device.SoftGpu;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Driver calls as a session makes them: by addresses and handles, judged by result codes. */
final class SoftBackendTest {
  private static final long MEMORY_BYTES = 64 << 20;
  private static final String PTX =
      """
      .version 8.0
      .target sm_75
      .address_size 64
      .visible .global .align 4 .u32 counter = 42;
      .visible .entry add(.param .u64 target, .param .u8 small, .param .f64 big)
      {
        ret;
      }
      """;

  private static final String STORE_PTX =
      """
      .version 8.0
      .target sm_75
      .address_size 64
      .visible .entry store(.param .u8 tag, .param .u64 target, .param .u32 value)
      {
        .reg .b64 %rd<4>;
        .reg .b32 %r<6>;
        ld.param.u64 %rd1, [target];
        ld.param.u32 %r1, [value];
        mov.u32 %r2, %ctaid.x;
        mov.u32 %r3, %ntid.x;
        mov.u32 %r4, %tid.x;
        mad.lo.s32 %r5, %r2, %r3, %r4;
        mul.wide.s32 %rd2, %r5, 4;
        add.s64 %rd3, %rd1, %rd2;
        st.global.u32 [%rd3], %r1;
        ret;
      }
      """;

  private final Arena arena = Arena.ofConfined();
  private final SoftBackend backend =
      new SoftBackend(new DeviceSpec(2, MEMORY_BYTES, 90), SoftGpu.MissingPtx.FAIL);
  private final long out = arena.allocate(4096, 16).address();

  @BeforeEach
  void makeContextCurrent() {
    ok(backend.cuInit(0));
    ok(backend.cuDevicePrimaryCtxRetain(out, 0));
    ok(backend.cuCtxSetCurrent(Memory.getLong(out)));
  }

  @AfterEach
  void close() {
    backend.close();
    arena.close();
  }

  /** A device's time that notes when it is used. */
  private static final class NotedTime implements DriverTime {
    private final List<String> notes = new ArrayList<>();

    @Override
    public long begin(Use use, long nowNanos) {
      notes.add("begin");
      return nowNanos;
    }

    @Override
    public void end(long nowNanos) {
      notes.add("end");
    }

    @Override
    public boolean isOver() {
      return false;
    }

    @Override
    public long pass(Use use) {
      return 0;
    }

    @Override
    public SliceState renew(long nowNanos) {
      return SliceState.UNCONTENDED;
    }

    @Override
    public void workFinished() {}

    @Override
    public void addMeasured(long nanos) {}
  }

  @Test
  void work_thatIsComputedOnTheCallingThread_isInTheTimeOfItsDevice() {
    NotedTime other = new NotedTime();
    NotedTime own = new NotedTime();
    backend.share(0, other);
    backend.share(1, own);
    backend.compute(1, () -> own.notes.add("work"));
    assertThat(own.notes).containsExactly("begin", "work", "end");
    assertThat(other.notes).isEmpty();
  }

  @Test
  void device_queries_answer() {
    ok(backend.cuDriverGetVersion(out));
    assertThat(Memory.getInt(out)).isEqualTo(13000);
    ok(backend.cuDeviceGetCount(out));
    assertThat(Memory.getInt(out)).isEqualTo(2);
    ok(backend.cuDeviceGet(out, 1));
    assertThat(Memory.getInt(out)).isEqualTo(1);
    ok(backend.cuDeviceGetName(out, 256, 0));
    assertThat(Memory.text(out, 256)).startsWith("gpupool software GPU");
    ok(backend.cuDeviceGetName(out, 8, 0));
    assertThat(Memory.text(out, 256)).isEqualTo("gpupool");
    ok(backend.cuDeviceGetPCIBusId(out, 16, 1));
    assertThat(Memory.text(out, 16)).isEqualTo("FFFF:01:00.0");
    ok(backend.cuDeviceTotalMem_v2(out, 0));
    assertThat(Memory.getLong(out)).isEqualTo(MEMORY_BYTES);
    ok(backend.cuDeviceGetAttribute(out, 75, 0));
    assertThat(Memory.getInt(out)).isEqualTo(9);
    assertThat(backend.cuDeviceGetAttribute(out, 4711, 0)).isEqualTo(1);
    assertThat(backend.cuDeviceGet(out, 2)).isEqualTo(101);
    assertThat(backend.cuInit(1)).isEqualTo(1);
  }

  @Test
  void memory_writeFillReadFree_works() {
    ok(backend.cuMemAlloc_v2(out, 1 << 20));
    long device = Memory.getLong(out);
    long host = arena.allocate(1 << 20).address();
    Memory.putLong(host, 0x1122334455667788L);

    ok(backend.cuMemcpyHtoDAsync_v2(device, host, 1 << 20, 0));
    ok(backend.cuMemsetD32Async(device + 8, 7, 2, 0));
    ok(backend.cuMemcpyDtoDAsync_v2(device + 64, device, 16, 0));
    ok(backend.cuMemcpyDtoH_v2(out, device + 64, 16));

    assertThat(Memory.getLong(out)).isEqualTo(0x1122334455667788L);
    assertThat(Memory.getLong(out + 8)).isEqualTo(0x0000000700000007L);
    assertThat(backend.isReadable(device, 1 << 20)).isTrue();
    assertThat(backend.isReadable(device, (1 << 20) + 1)).isFalse();
    assertThat(backend.isReadable(host, 1)).isFalse();
    ok(backend.cuMemGetInfo_v2(out, out + 8));
    assertThat(Memory.getLong(out)).isEqualTo(MEMORY_BYTES - (1 << 20));
    ok(backend.cuMemFree_v2(device));
    ok(backend.cuMemFree_v2(0));
    assertThat(backend.cuMemFree_v2(device)).isEqualTo(1);
    assertThat(backend.cuMemcpyDtoH_v2(out, device, 16)).isEqualTo(1);
    assertThat(backend.cuMemAlloc_v2(out, MEMORY_BYTES + 1)).isEqualTo(2);
    assertThat(backend.lastFailure()).hasValueSatisfying(text -> assertThat(text).contains("free"));
  }

  @Test
  void pools_allocateAndFreeInAStream_account() {
    ok(backend.cuDeviceGetDefaultMemPool(out, 0));
    long pool = Memory.getLong(out);
    ok(backend.cuMemAllocAsync(out, 1000, 0));
    long first = Memory.getLong(out);
    ok(backend.cuMemAllocFromPoolAsync(out, 500, pool, 0));
    long second = Memory.getLong(out);
    ok(backend.cuMemPoolGetAttribute(pool, 7, out));
    assertThat(Memory.getLong(out)).isEqualTo(1500);
    ok(backend.cuMemFreeAsync(first, 0));
    ok(backend.cuMemFreeAsync(second, 0));
    ok(backend.cuMemPoolGetAttribute(pool, 7, out));
    assertThat(Memory.getLong(out)).isZero();
    Memory.putLong(out, 12345);
    ok(backend.cuMemPoolSetAttribute(pool, 4, out));
    ok(backend.cuMemPoolTrimTo(pool, 0));
    assertThat(backend.cuMemPoolTrimTo(4096 + 4000, 0)).isEqualTo(400);
  }

  @Test
  void streamsAndEvents_heldByHostTask_areNotReadyThenReady() {
    long stream = stream(0);
    long start = event();
    long end = event();
    List<Runnable> held = new ArrayList<>();

    ok(backend.cuEventRecord(start, stream));
    ok(backend.launchHostTask(stream, false, (status, done) -> held.add(done)));
    ok(backend.cuEventRecord(end, stream));

    assertThat(backend.cuStreamQuery(stream)).isEqualTo(600);
    assertThat(backend.cuEventQuery(end)).isEqualTo(600);
    ok(backend.cuEventQuery(start));
    assertThat(backend.cuEventElapsedTime(out, start, end)).isEqualTo(600);
    held.getFirst().run();
    ok(backend.cuStreamSynchronize(stream));
    ok(backend.cuEventSynchronize(end));
    ok(backend.cuCtxSynchronize());
    ok(backend.cuEventElapsedTime_v2(out, start, end));
    assertThat(Float.intBitsToFloat(Memory.getInt(out))).isNotNegative();
    ok(backend.cuStreamWaitEvent(0, end, 0));
    ok(backend.cuEventDestroy_v2(end));
    ok(backend.cuStreamDestroy_v2(stream));
    assertThat(backend.cuStreamQuery(stream)).isEqualTo(400);
    assertThat(backend.cuEventQuery(end)).isEqualTo(400);
    assertThat(backend.cuEventQuery(stream)).isEqualTo(400);
  }

  @Test
  void module_ofText_givesFunctionsParametersAndVariables() {
    long module = load(PTX);
    ok(backend.cuModuleGetFunctionCount(out, module));
    assertThat(Memory.getInt(out)).isEqualTo(1);
    ok(backend.cuModuleEnumerateFunctions(out, 5, module));
    long function = Memory.getLong(out);
    ok(backend.cuModuleGetFunction(out, module, text("add")));
    assertThat(Memory.getLong(out)).isEqualTo(function);
    ok(backend.cuFuncGetName(out, function));
    assertThat(Memory.text(Memory.getLong(out), 100)).isEqualTo("add");
    int[][] expected = {{0, 8}, {8, 1}, {16, 8}};
    for (int index = 0; index < expected.length; index++) {
      ok(backend.cuFuncGetParamInfo(function, index, out, out + 8));
      assertThat(Memory.getLong(out)).isEqualTo(expected[index][0]);
      assertThat(Memory.getLong(out + 8)).isEqualTo(expected[index][1]);
    }
    assertThat(backend.cuFuncGetParamInfo(function, 3, out, 0)).isEqualTo(1);
    ok(backend.cuModuleGetGlobal_v2(out, out + 8, module, text("counter")));
    assertThat(Memory.getLong(out + 8)).isEqualTo(4);
    ok(backend.cuMemcpyDtoH_v2(out, Memory.getLong(out), 4));
    assertThat(Memory.getInt(out)).isEqualTo(42);
    assertThat(backend.moduleBytes(module)).isEqualTo(4);
    ok(backend.cuFuncGetAttribute(out, 0, function));
    assertThat(Memory.getInt(out)).isEqualTo(1024);
    ok(backend.cuFuncSetAttribute(function, 8, 1000));
    ok(backend.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, function, 1024, 0, 0));
    assertThat(Memory.getInt(out)).isEqualTo(2);
    assertThat(backend.cuModuleGetFunction(out, module, text("sub"))).isEqualTo(500);
    ok(backend.cuModuleUnload(module));
    assertThat(backend.cuFuncGetName(out, function)).isEqualTo(400);
  }

  @Test
  void loadModule_wrongPtx_writesTheErrorLog() {
    long options = arena.allocate(8, 8).address();
    long values = arena.allocate(16, 8).address();
    Memory.putInt(options, 5);
    Memory.putInt(options + 4, 6);
    Memory.putLong(values, out + 256);
    Memory.putLong(values + 8, 512);
    MemorySegment image = arena.allocateFrom(PTX.replace("ret;", "nonsense;"));

    int result = backend.loadModule(out, image.address(), image.byteSize(), 2, options, values);

    assertThat(result).isEqualTo(218);
    String log = Memory.text(out + 256, 512);
    assertThat(log).contains("line 7");
    assertThat(Memory.getLong(values + 8)).isEqualTo(log.length() + 1);
  }

  @Test
  void cuModuleLoadDataEx_imageOfAnyKind_findsItsEnd() {
    ok(backend.cuModuleLoadDataEx(out, text(PTX), 0, 0, 0));
    // A fat binary of one entry: PTX for compute capability 7.5, not compressed.
    byte[] code = PTX.getBytes(StandardCharsets.US_ASCII);
    ByteBuffer fatbin = ByteBuffer.allocate(16 + 64 + code.length).order(ByteOrder.LITTLE_ENDIAN);
    fatbin.putInt(0xBA55ED50).putShort((short) 1).putShort((short) 16).putLong(64 + code.length);
    fatbin.putShort((short) 1).putShort((short) 0x101).putInt(64).putLong(code.length);
    fatbin.putInt(44, 75).put(80, code);
    long image = arena.allocateFrom(ValueLayout.JAVA_BYTE, fatbin.array()).address();
    ok(backend.cuModuleLoadDataEx(out, image, 0, 0, 0));
    assertThat(backend.cuModuleLoadDataEx(out, text("nothing of sense"), 0, 0, 0)).isEqualTo(200);
    assertThat(backend.cuModuleLoadDataEx(out, 0, 0, 0, 0)).isEqualTo(1);
  }

  @Test
  void launch_wrongArguments_areInvalidValues() {
    long module = load(PTX);
    ok(backend.cuModuleGetFunction(out, module, text("add")));
    long function = Memory.getLong(out);

    assertThat(backend.cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, 0, 0, extra(24))).isEqualTo(1);
    assertThat(backend.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, extra(0))).isEqualTo(1);
    assertThat(backend.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)).isEqualTo(1);
    assertThat(backend.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 77, 0, extra(24)))
        .isEqualTo(400);
    assertThat(backend.cuLaunchKernel(module, 1, 1, 1, 1, 1, 1, 0, 0, 0, extra(24))).isEqualTo(400);
    assertThat(backend.cuLaunchKernelEx(config(4, 2), function, 0, extra(24))).isEqualTo(1);
    assertThat(backend.cuLaunchKernelEx(config(99, 0), function, 0, extra(24))).isEqualTo(1);
  }

  @Test
  void launch_everyForm_runsTheKernel() {
    ok(backend.cuModuleGetFunction(out, load(STORE_PTX), text("store")));
    long function = Memory.getLong(out);
    ok(backend.cuMemAlloc_v2(out, 4096));
    long device = Memory.getLong(out);
    long block = arena.allocate(20, 8).address();
    Memory.putLong(block + 8, device);
    Memory.putInt(block + 16, 1);

    ok(backend.cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, 0, 0, extra(block, 20)));
    assertStored(device, 64, 1);
    Memory.putInt(block + 16, 2);
    long pointers =
        arena.allocateFrom(ValueLayout.JAVA_LONG, block, block + 8, block + 16).address();
    ok(backend.cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, 0, pointers, 0));
    assertStored(device, 8, 2);
    Memory.putInt(block + 16, 3);
    ok(backend.cuLaunchCooperativeKernel(function, 1, 1, 1, 8, 1, 1, 0, 0, pointers));
    assertStored(device, 8, 3);
    Memory.putInt(block + 16, 4);
    ok(backend.cuLaunchKernelEx(config(2, 1), function, pointers, 0));
    assertStored(device, 1, 4);
    assertThat(backend.busyNanos()).isPositive();
  }

  @Test
  void launch_kernelOutOfRange_makesEveryLaterCallFail() {
    long stream = stream(0);
    long event = event();
    long module = load(STORE_PTX);
    ok(backend.cuModuleGetFunction(out, module, text("store")));
    long function = Memory.getLong(out);
    long block = arena.allocate(20, 8).address();
    Memory.putLong(block + 8, 0x30);

    ok(backend.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, 0, extra(block, 20)));

    assertThat(backend.cuStreamSynchronize(stream)).isEqualTo(700);
    assertThat(backend.cuCtxSynchronize()).isEqualTo(700);
    assertThat(backend.cuStreamQuery(stream)).isEqualTo(700);
    assertThat(backend.cuEventRecord(event, stream)).isEqualTo(700);
    assertThat(backend.cuEventQuery(event)).isEqualTo(700);
    assertThat(backend.cuMemAlloc_v2(out, 16)).isEqualTo(700);
    assertThat(backend.cuMemGetInfo_v2(out, out + 8)).isEqualTo(700);
    assertThat(backend.cuModuleUnload(module)).isEqualTo(700);
    assertThat(backend.lastFailure())
        .hasValueSatisfying(text -> assertThat(text).contains("store", "0x30"));
    ok(backend.cuDevicePrimaryCtxRetain(out, 1));
    ok(backend.cuCtxSetCurrent(Memory.getLong(out)));
    ok(backend.cuMemAlloc_v2(out, 16));
  }

  @Test
  void contexts_createdAndDestroyed_areCurrentThenGone() {
    ok(backend.cuCtxCreate_v2(out, 0, 1));
    long context = Memory.getLong(out);
    ok(backend.cuMemAlloc_v2(out, 4096));
    ok(backend.cuCtxSetLimit(1, 1 << 21));
    ok(backend.cuCtxGetLimit(out, 1));
    assertThat(Memory.getLong(out)).isEqualTo(1 << 21);
    ok(backend.cuCtxDestroy_v2(context));
    assertThat(backend.cuMemAlloc_v2(out, 4096)).isEqualTo(709);
    assertThat(backend.cuCtxSetCurrent(context)).isEqualTo(400);
    ok(backend.cuCtxSetCurrent(0));
    assertThat(backend.cuMemAlloc_v2(out, 4096)).isEqualTo(201);
  }

  @Test
  void primaryContext_reset_worksOnWithoutItsOldStreams() {
    long stream = stream(1);
    ok(backend.cuMemAlloc_v2(out, 4096));

    ok(backend.cuDevicePrimaryCtxReset_v2(0));

    ok(backend.cuMemGetInfo_v2(out, out + 8));
    assertThat(Memory.getLong(out)).isEqualTo(MEMORY_BYTES);
    assertThat(backend.cuStreamQuery(stream)).isEqualTo(709);
    ok(backend.cuMemAlloc_v2(out, 4096));
  }

  @Test
  void allocateAt_addressThatWasFreed_isMemoryOfTheCurrentContext() {
    ok(backend.cuMemAlloc_v2(out, 4096));
    long address = Memory.getLong(out);
    assertThat(backend.allocateAt(address, 4096)).isEqualTo(1);
    ok(backend.cuMemFree_v2(address));
    ok(backend.cuCtxSynchronize());

    ok(backend.allocateAt(address, 4096));
    ok(backend.cuMemsetD8Async(address, (byte) 7, 4096, 0));
    assertThat(backend.allocateAt(address + 4096 + 1, 1)).isEqualTo(1);
    assertThat(backend.allocateAt(address + 4096, MEMORY_BYTES)).isEqualTo(2);
    ok(backend.cuMemFree_v2(address));
  }

  @Test
  void hostMemory_allocatedAndFreed_canBeWritten() {
    ok(backend.cuMemHostAlloc(out, 10_000, 0));
    long address = Memory.getLong(out);
    Memory.clear(address, 10_000);
    ok(backend.cuMemFreeHost(address));
    assertThat(backend.cuMemFreeHost(address)).isEqualTo(1);
  }

  @Test
  void callsOfNoBackend_areNotSupported() {
    assertThat(((Backend) backend).cuLaunchHostFunc(0, 0, 0)).isEqualTo(801);
  }

  private long stream(int flags) {
    ok(backend.cuStreamCreateWithPriority(out, flags, 0));
    return Memory.getLong(out);
  }

  private long event() {
    ok(backend.cuEventCreate(out, 0));
    return Memory.getLong(out);
  }

  private long load(String ptx) {
    MemorySegment image = arena.allocateFrom(ptx);
    ok(backend.loadModule(out, image.address(), image.byteSize(), 0, 0, 0));
    return Memory.getLong(out);
  }

  private long text(String text) {
    return arena.allocateFrom(text, StandardCharsets.UTF_8).address();
  }

  private void assertStored(long device, int count, int value) {
    ok(backend.cuMemcpyDtoH_v2(out, device, 4L * count));
    for (int index = 0; index < count; index++) {
      assertThat(Memory.getInt(out + 4L * index)).isEqualTo(value);
    }
  }

  private long extra(long bytes) {
    return extra(arena.allocate(Math.max(bytes, 1), 16).address(), bytes);
  }

  private long extra(long block, long bytes) {
    long size = arena.allocateFrom(ValueLayout.JAVA_LONG, bytes).address();
    return arena.allocateFrom(ValueLayout.JAVA_LONG, 1, block, 2, size, 0).address();
  }

  private long config(int attribute, int value) {
    long attributes = arena.allocate(72, 8).address();
    Memory.putInt(attributes, attribute);
    Memory.putInt(attributes + 8, value);
    long config = arena.allocate(56, 8).address();
    for (int axis = 0; axis < 6; axis++) {
      Memory.putInt(config + 4L * axis, 1);
    }
    Memory.putLong(config + 40, attributes);
    Memory.putInt(config + 48, 1);
    return config;
  }

  private static void ok(int result) {
    assertThat(result).isZero();
  }
}
