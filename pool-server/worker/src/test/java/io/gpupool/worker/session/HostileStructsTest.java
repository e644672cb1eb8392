// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What a client sends that wants the worker's own memory read or written: addresses of the host
 * where those of the device belong, memory types, handles and pointers in structs. The driver is
 * asked for none of it.
 */
@Timeout(60)
class HostileStructsTest extends SessionOnTestDriver {
  private static final String IMAGE = "testcuda\nkernel fill 8 4 4\nglobal counter 64\n";
  private static final int MODULE = 16;
  private static final int FILL = 16;
  private static final int STREAM = 16;
  private static final int ARRAY = 50;
  private static final int GRAPH = 5;
  private static final int COPY_NODE = 1;
  private static final int FILL_NODE = 2;
  private static final int CONDITIONAL_NODE = 13;
  private static final int HOST_TYPE = 1;
  private static final int DEVICE_TYPE = 2;
  private static final int ARRAY_TYPE = 3;
  private static final int WRAPPER_MAGIC = 0x466243B1;

  /** Memory of this process that is none of the session's. */
  private final long host = Memory.allocateForever(4096);

  private long own;
  private long before;

  @BeforeEach
  void start() {
    session.load(IMAGE);
    session.post(Ops.moduleBindFunction, MODULE, FILL, "fill");
    session.post(Ops.streamCreate, STREAM, 1, 0);
    own = session.allocate(4096);
    assertThat(session.call(Ops.arrayCreate, ARRAY, 16, 16, 0, 0x20, 1, 0).result()).isZero();
    before = calls();
  }

  @Test
  void copiesAndFills_ofHostAddresses_neverReachTheDriver() {
    for (long address : List.of(host, 8L, own + 4090, own - 8, -1L)) {
      refused(Ops.memcpyHtoD, address, STREAM, new byte[16]);
      refused(Ops.cuMemcpyDtoDAsync_v2, address, own, 16, STREAM);
      refused(Ops.cuMemcpyDtoDAsync_v2, own, address, 16, STREAM);
      refused(Ops.cuMemsetD8Async, address, 1, 16, STREAM);
      refused(Ops.cuMemsetD16Async, address, 1, 8, STREAM);
      refused(Ops.cuMemsetD32Async, address, 1, 4, STREAM);
      refused(Ops.cuMemsetD2D32Async, address, 64, 1, 4, 2, STREAM);
      refused(Ops.write3D, 0, address, 0, 0, 0, 16, 1, 16, 1, 1, STREAM, new byte[16]);
      refused(Ops.copy3D, 0, own, 0, 0, 0, 16, 1, 0, address, 0, 0, 0, 16, 1, 16, 1, 1, STREAM);
      refused(Ops.mirrorCreate, address, 64, 64, 1, STREAM);
      assertThat(session.call(Ops.memcpyDtoH, address, 16, STREAM).result())
          .isEqualTo(CudaResult.INVALID_VALUE);
      assertThat(session.call(Ops.memcpyDtoH, address, 2 << 20, STREAM).result())
          .isEqualTo(CudaResult.INVALID_VALUE);
    }
    refused(Ops.cuMemsetD2D8Async, own, 2048, 1, 16, 3, STREAM);
    refused(Ops.cuMemsetD2D8Async, own, Long.MAX_VALUE, 1, 16, Long.MAX_VALUE, STREAM);
    refused(Ops.memcpyDtoHPosted, 900, host, 16, STREAM);
    refused(Ops.read3D, 901, 0, host, 0, 0, 0, 16, 1, 16, 1, 1, STREAM);
    driverSawNothing();
  }

  @Test
  void freedMemory_isNobodys() {
    long gone = session.allocate(4096);
    session.post(Ops.memFree, gone);
    assertThat(outcome()).isZero();
    before = calls();

    refused(Ops.memcpyHtoD, gone, STREAM, new byte[16]);
    refused(Ops.memFree, gone);
    refused(Ops.memFree, host);
    refused(Ops.memFreeAsync, host, STREAM);
    assertThat(session.call(Ops.memShare, host, 1, 1, 1, 1).result())
        .isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(session.call(Ops.memClose, host).result()).isEqualTo(CudaResult.INVALID_VALUE);
    driverSawNothing();
  }

  @Test
  void variables_areTheSessionsOnceItKnowsThem() {
    long variable = session.call(Ops.moduleGetGlobal, MODULE, "counter", 1, 1).u64(0);
    session.post(Ops.cuMemsetD8Async, variable, 7, 64, STREAM);
    assertThat(session.download(variable, 64, STREAM)).containsOnly(7);

    session.post(Ops.moduleUnload, MODULE);

    assertThat(outcome()).isZero();
    refused(Ops.cuMemsetD8Async, variable, 7, 64, STREAM);
  }

  @Test
  void copyNodes_ofAnythingButTheSessionsMemory_neverReachTheDriver() {
    byte[] good = copy(DEVICE_TYPE, own, DEVICE_TYPE, own + 2048, 64);
    byte[] junk = good.clone();
    ByteBuffer words = ByteBuffer.wrap(junk).order(ByteOrder.LITTLE_ENDIAN);
    // Of fields that are none of linear memory's, nothing goes further.
    words.putLong(40, host).putLong(56, host).putLong(64, host).putLong(24, 1);
    words.putLong(88 + 40, host).putLong(88 + 56, host).putLong(88 + 64, host).putLong(88 + 24, 1);
    make(record(COPY_NODE, junk));
    assertThat(instantiated()).isZero();
    before = calls();
    for (byte[] bad :
        List.of(
            copy(HOST_TYPE, host, DEVICE_TYPE, own, 64),
            copy(DEVICE_TYPE, own, HOST_TYPE, host, 64),
            copy(ARRAY_TYPE, host, DEVICE_TYPE, own, 64),
            copy(4, host, DEVICE_TYPE, own, 64),
            copy(DEVICE_TYPE, host, DEVICE_TYPE, own, 64),
            copy(DEVICE_TYPE, own, DEVICE_TYPE, host, 64),
            copy(DEVICE_TYPE, own + 4064, DEVICE_TYPE, own, 64),
            copy(DEVICE_TYPE, own, DEVICE_TYPE, own, -1),
            away(good, 0, 4096),
            away(good, 8, 1L << 40),
            away(good, 88 + 16, -1),
            new byte[199])) {
      refused(Ops.graphSetNode, GRAPH, 0, bad);
      refusedNode(COPY_NODE, bad);
    }
    driverSawNothing();
  }

  @Test
  void fillNodes_ofHostAddresses_neverReachTheDriver() {
    make(record(FILL_NODE, fill(own, 4, 4, 1, 0)));
    assertThat(instantiated()).isZero();
    before = calls();
    for (byte[] bad :
        List.of(
            fill(host, 4, 4, 1, 0),
            fill(own, 4, 1025, 1, 0),
            fill(own, 3, 4, 1, 0),
            fill(own, 4, 4, 3, 4000),
            fill(own, 4, Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE))) {
      refused(Ops.graphSetNode, GRAPH, 0, bad);
      refusedNode(FILL_NODE, bad);
    }
    driverSawNothing();
  }

  @Test
  void conditionalNodes_ofHandlesThatTheSessionDoesNotHave_neverReachTheDriver() {
    byte[] work = new byte[24];
    ByteBuffer.wrap(work)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(0, host)
        .putInt(12, 1)
        .putInt(16, 90);
    refusedNode(CONDITIONAL_NODE, work);
    driverSawNothing();

    long condition = session.call(Ops.graphCondition, 30, 1, 1, 1).u64(0);
    session.post(Ops.graphDestroy, 30);
    assertThat(outcome()).isZero();
    before = calls();
    ByteBuffer.wrap(work).order(ByteOrder.LITTLE_ENDIAN).putLong(0, condition);
    refusedNode(CONDITIONAL_NODE, work);
    driverSawNothing();
  }

  @Test
  void launchAttributes_carryNothingButTheirOwnFields() {
    refusedLaunch(attribute(1, host, 64), CudaResult.INVALID_VALUE);
    refusedLaunch(attribute(7, host, 0), CudaResult.INVALID_HANDLE);
    refusedLaunch(attribute(12, 99, 0), CudaResult.INVALID_HANDLE);
    refusedLaunch(attribute(13, 1, host), CudaResult.NOT_SUPPORTED);
    refusedLaunch(attribute(15, host, 0), CudaResult.INVALID_VALUE);
    refusedLaunch(attribute(-1, host, 0), CudaResult.INVALID_VALUE);
    driverSawNothing();
    session.send(launch(attribute(1, own, 64)));
    assertThat(outcome()).isZero();
  }

  @Test
  void memoryOperations_onHostWords_neverReachTheDriver() {
    for (int kind : new int[] {1, 2, 4, 5}) {
      refused(Ops.streamMemoryOperations, STREAM, operation(kind, host));
      refused(Ops.streamMemoryOperations, STREAM, operation(kind, own + 4094));
    }
    refused(Ops.streamMemoryOperations, STREAM, operation(8, own));
    refused(Ops.streamMemoryOperations, STREAM, Request.all(operation(2, own), operation(2, host)));
    refused(Ops.streamMemoryOperations, STREAM, new byte[47]);
    driverSawNothing();
  }

  @Test
  void resourcesOfTextures_areTheSessionsOwn() {
    byte[] texture = new byte[104];
    for (byte[] bad :
        List.of(
            resource(0, host, 0, 0, 0),
            resource(1, ARRAY, 0, 0, 0),
            resource(2, host, 64, 0, 0),
            resource(2, own, 4097, 0, 0),
            resource(3, own, 16, 65, 64),
            resource(4, host, 64, 0, 0))) {
      assertThat(session.call(Ops.textureCreate, bad, texture, -1, 1).result())
          .isIn(CudaResult.INVALID_VALUE, CudaResult.INVALID_HANDLE);
      assertThat(session.call(Ops.surfaceCreate, bad, 1).result())
          .isIn(CudaResult.INVALID_VALUE, CudaResult.INVALID_HANDLE);
    }
    driverSawNothing();
    assertThat(session.call(Ops.textureCreate, resource(2, own, 64, 0, 0), texture, -1, 1).result())
        .isZero();
  }

  @Test
  void tensorMaps_thatTheDriverHasNotMade_areNotChanged() {
    byte[] forged = new byte[128];
    ByteBuffer.wrap(forged).order(ByteOrder.LITTLE_ENDIAN).putLong(0, host);
    assertThat(session.call(Ops.tensorMapReplace, forged, own, 128).result())
        .isEqualTo(CudaResult.INVALID_VALUE);
    driverSawNothing();
  }

  @Test
  void virtualMemory_outsideOfReservations_isRefused() {
    assertThat(session.call(Ops.vmCreate, 7, 0, 1 << 16, 0).result()).isZero();
    before = calls();
    for (Object[] call :
        List.of(
            new Object[] {Ops.vmFree, host, 4096},
            new Object[] {Ops.vmMap, host, 1 << 16, 0, 7},
            new Object[] {Ops.vmUnmap, host, 1 << 16},
            new Object[] {Ops.vmSetAccess, host, 1 << 16, 0, 3},
            new Object[] {Ops.vmGetAccess, host, 0, 1},
            new Object[] {Ops.vmRetain, 7, host},
            new Object[] {Ops.vmCreate, 8, 0, 1 << 16, 2},
            new Object[] {Ops.poolCreate, 1024, 0, 0, 8})) {
      Object[] fields = Arrays.copyOfRange(call, 1, call.length);
      assertThat(session.call((int) call[0], fields).result())
          .as("op %s", Ops.name((int) call[0]))
          .isEqualTo(CudaResult.INVALID_VALUE);
    }
    driverSawNothing();
  }

  @Test
  void images_thatPointElsewhere_areNoImages() {
    ByteBuffer wrapper = words(64).putInt(WRAPPER_MAGIC).putInt(1).putLong(host).putLong(host);
    ByteBuffer fatBinary = words(128).putInt(0xBA55ED50).putInt(16 << 16 | 1).putLong(4096);
    ByteBuffer entry = words(128).putInt(0xBA55ED50).putInt(16 << 16 | 1).putLong(112);
    entry.putInt(1).putInt(64).putLong(1L << 40);
    ByteBuffer elf = words(128).putInt(0x464C457F);
    elf.putLong(40, 64).putShort(58, (short) 64).putShort(60, (short) 1);
    elf.putInt(64 + 4, 1).putLong(64 + 24, 0).putLong(64 + 32, 1L << 32);
    int image = 40;
    for (ByteBuffer bad : List.of(wrapper, fatBinary, entry, elf)) {
      session.post(Ops.imageBegin, image, bad.capacity());
      session.post(Ops.imageData, image, bad.array());
      assertThat(session.call(Ops.moduleLoad, 30, image, new byte[0], 0, 0, 0).result())
          .isEqualTo(CudaResult.INVALID_IMAGE);
      assertThat(session.call(Ops.linkCreate, image, new byte[0], 0, 0).result()).isZero();
      assertThat(session.call(Ops.linkAdd, image, 2, image, "name", new byte[0], 0, 0).result())
          .isEqualTo(CudaResult.INVALID_IMAGE);
      image++;
    }
    driverSawNothing();
  }

  private void refused(int op, Object... fields) {
    session.post(op, fields);
    assertThat(outcome()).as("op %s", Ops.name(op)).isEqualTo(CudaResult.INVALID_VALUE);
  }

  private void refusedNode(int type, byte[] work) {
    session.post(Ops.graphCreate, GRAPH + 1);
    session.post(Ops.graphAddNodes, GRAPH + 1, record(type, work));
    Answer answer = session.call(Ops.graphInstantiate, GRAPH + 1, 0, 1, 1);
    assertThat(answer.u64(0)).isEqualTo(CudaResult.INVALID_VALUE);
    session.post(Ops.graphDestroy, GRAPH + 1);
  }

  private void refusedLaunch(byte[] attribute, int result) {
    session.send(launch(attribute));
    assertThat(outcome()).isEqualTo(result);
  }

  private int outcome() {
    return session.call(Ops.ctxSynchronize).result();
  }

  private void make(byte[] record) {
    session.post(Ops.graphCreate, GRAPH);
    session.post(Ops.graphAddNodes, GRAPH, record);
  }

  private int instantiated() {
    return (int) session.call(Ops.graphInstantiate, GRAPH, 0, 1, 1).u64(0);
  }

  private void driverSawNothing() {
    assertThat(calls()).isEqualTo(before);
  }

  /** How often the driver was given addresses, structs or images. */
  private static long calls() {
    try (Arena arena = Arena.ofConfined()) {
      return (long)
          Linker.nativeLinker()
              .downcallHandle(
                  SymbolLookup.libraryLookup(TestDriver.library(), arena)
                      .findOrThrow("testcudaCalls"),
                  FunctionDescriptor.of(ValueLayout.JAVA_LONG))
              .invokeExact();
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  private static byte[] record(int type, byte[] work) {
    ByteBuffer record = words(16 + work.length);
    record.putInt(16 + work.length).putShort((short) type).putShort((short) 0);
    record.putInt(0).putInt(work.length).put(work);
    return record.array();
  }

  /** A CUDA_MEMCPY3D of one row; where a type has its address. */
  private static byte[] copy(int fromType, long from, int toType, long to, long bytes) {
    ByteBuffer work = words(200);
    for (int side = 0; side < 2; side++) {
      int type = side == 0 ? fromType : toType;
      int place = type == HOST_TYPE ? 40 : type == ARRAY_TYPE ? 56 : 48;
      work.putInt(88 * side + 32, type).putLong(88 * side + place, side == 0 ? from : to);
      work.putLong(88 * side + 72, 64).putLong(88 * side + 80, 1);
    }
    return work.putLong(176, bytes).putLong(184, 1).putLong(192, 1).array();
  }

  private static byte[] away(byte[] copy, int field, long by) {
    byte[] moved = copy.clone();
    ByteBuffer.wrap(moved).order(ByteOrder.LITTLE_ENDIAN).putLong(field, by);
    return moved;
  }

  private static byte[] fill(long address, int elementBytes, long width, long height, long pitch) {
    ByteBuffer work = words(40).putLong(address).putLong(pitch).putInt(1).putInt(elementBytes);
    return work.putLong(width).putLong(height).array();
  }

  private static byte[] operation(int kind, long address) {
    return words(48).putInt(0, kind).putLong(8, address).putLong(16, 1).array();
  }

  private static byte[] resource(int type, long at, long first, long height, long pitch) {
    ByteBuffer resource = words(144).putInt(0, type).putLong(8, at).putInt(16, 0x20).putInt(20, 1);
    return resource.putLong(24, first).putLong(32, height).putLong(40, pitch).array();
  }

  private static byte[] attribute(int id, long first, long second) {
    return words(72).putInt(0, id).putLong(8, first).putLong(16, second).array();
  }

  /** A launch of one block with one attribute. */
  private byte[] launch(byte[] attribute) {
    ByteBuffer frame = words(56 + 72 + 16).putInt(56 + 72 + 16).putShort((short) Ops.launch);
    frame.putShort((short) TestSession.CONTEXT).putInt(FILL).putInt(STREAM);
    frame.putInt(1).putInt(1).putInt(1).putInt(32).putInt(1).putInt(1);
    frame.putInt(0).putInt(0).putInt(16).putInt(1).put(attribute);
    return frame.putLong(own).putInt(4).putInt(3).array();
  }

  private static ByteBuffer words(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
