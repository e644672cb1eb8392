// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import io.gpupool.worker.session.quota.LeasedGpu;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a session hands on to a driver, on the test driver: each part of the API at least once. */
@Timeout(60)
class PassThroughTest extends SessionOnTestDriver {
  private static final int STREAM = 16;
  private static final int OTHER_CONTEXT = 2;
  private static final int BLOCK = 7;
  private static final int POOL = 1024;
  private static final int LINK = 3;
  private static final int FATBIN_MAGIC = 0xBA55ED50;
  private static final int READ_AND_WRITE = 3;
  private static final int WAIT_VALUE = 1;
  private static final int WRITE_VALUE = 2;

  private int nextTag = 2000;

  @Override
  List<LeasedGpu> gpus() {
    LeasedGpu first = new LeasedGpu(0, TestSession.QUOTA_BYTES, 100);
    LeasedGpu second = new LeasedGpu(1, TestSession.QUOTA_BYTES, 100);
    return List.of(first, second);
  }

  @BeforeEach
  void createStream() {
    session.post(Ops.streamCreate, STREAM, 1, 0);
  }

  @Test
  void virtualMemory_reservedMappedAndAccessible_isMemoryUntilItIsUnmapped() {
    long bytes = answer(Ops.vmGranularity, 0, 0, 1).u64(0);
    long address = answer(Ops.vmReserve, bytes, 0, 0, 1).u64(0);
    answer(Ops.vmCreate, BLOCK, 0, bytes, 0);
    assertThat(session.ledger.sessionBytes(0)).isEqualTo(bytes);
    answer(Ops.vmMap, address, bytes, 0, BLOCK);
    session.post(Ops.vmRelease, BLOCK);
    answer(Ops.vmSetAccess, address, bytes, 0, READ_AND_WRITE);
    assertThat(answer(Ops.vmGetAccess, address, 0, 1).u64(0)).isEqualTo(READ_AND_WRITE);
    assertThat(answer(Ops.vmGetAccess, address, 1, 1).u64(0)).isZero();

    session.post(Ops.memcpyHtoD, address + 100, STREAM, new byte[] {1, 2, 3});
    assertThat(session.download(address + 100, 3, STREAM)).containsExactly(1, 2, 3);
    answer(Ops.vmRetain, BLOCK, address + 5);
    session.post(Ops.vmRelease, BLOCK);
    answer(Ops.vmUnmap, address, bytes);

    answer(Ops.vmFree, address, bytes);
    assertThat(session.ledger.sessionBytes(0)).isZero();
  }

  @Test
  void tensorMaps_areTheDriversOfWhatTheProgramSaid() {
    ByteBuffer map = map(answer(Ops.tensorMapEncode, tensor(0, 2), 128));
    assertThat(map.getLong(0)).isEqualTo(0x7000_1000);
    assertThat(map.getLong(8)).isEqualTo(6L << 32 | 2);
    assertThat(map.getLong(16)).isEqualTo(101);
    assertThat(map.getLong(24)).isEqualTo(102);
    assertThat(map.getLong(56)).isEqualTo(201);
    assertThat(map.getLong(88)).isEqualTo(31L << 32 | 42);
    assertThat(map.getLong(96)).isEqualTo(3L << 32 | 2L << 16 | 1);

    ByteBuffer columns = map(answer(Ops.tensorMapEncode, tensor(1, 5), 128));
    assertThat(columns.getLong(104)).isEqualTo(0xFFFF_FFFDL << 32 | 6);
    assertThat(columns.getLong(112)).isEqualTo(72);

    byte[] bytes = new byte[128];
    map.get(0, bytes);
    ByteBuffer moved = map(answer(Ops.tensorMapReplace, bytes, 0x7000_2000, 128));
    assertThat(moved.getLong(0)).isEqualTo(0x7000_2000);
    assertThat(moved.getLong(16)).isEqualTo(101);
  }

  @Test
  void tensorMaps_ofWrongLengthKindOrRank_areNotAskedFor() {
    for (byte[] bad : List.of(new byte[183], tensor(3, 2), tensor(0, 0), tensor(0, 6))) {
      assertThat(session.call(Ops.tensorMapEncode, bad, 128).result())
          .isEqualTo(CudaResult.INVALID_VALUE);
    }
    assertThat(session.call(Ops.tensorMapEncode, tensor(2, 3), 128).result())
        .as("a driver without it")
        .isEqualTo(CudaResult.NOT_SUPPORTED);
    assertThat(session.call(Ops.tensorMapReplace, new byte[64], 0, 128).result())
        .isEqualTo(CudaResult.INVALID_VALUE);
  }

  /** A tensor as ops.txt says; each number is another one. */
  private static byte[] tensor(int kind, int rank) {
    ByteBuffer tensor = ByteBuffer.allocate(184).order(ByteOrder.LITTLE_ENDIAN);
    tensor.putInt(kind).putInt(6).putInt(rank).putInt(0).putInt(3).putInt(2).putInt(1).putInt(0);
    tensor.putLong(0x7000_1000);
    for (int i = 1; i <= 9; i++) {
      tensor.putLong(i <= 5 ? 100 + i : 195 + i);
    }
    for (int i = 1; i <= 10; i++) {
      tensor.putInt(i <= 5 ? 30 + i : 35 + i);
    }
    tensor.putInt(-1).putInt(-2).putInt(-3).putInt(4).putInt(5).putInt(6).putInt(71).putInt(72);
    return tensor.array();
  }

  private static ByteBuffer map(Answer answer) {
    ByteBuffer payload = ByteBuffer.wrap(answer.payload()).order(ByteOrder.LITTLE_ENDIAN);
    assertThat(payload.getLong(0)).isEqualTo(128);
    return payload.slice(8, 128).order(ByteOrder.LITTLE_ENDIAN);
  }

  @Test
  void createdPool_givesMemoryUpToItsMost() {
    answer(Ops.poolCreate, POOL, 1, 8192, 0);
    session.post(Ops.poolSetAccess, POOL, 0, READ_AND_WRITE);
    Answer made = answer(Ops.memAllocAsync, 4096, POOL, STREAM, 1);
    assertThat(session.ledger.sessionBytes(1)).isEqualTo(4096);

    assertThat(session.call(Ops.memAllocAsync, 8192, POOL, STREAM, 1).result())
        .isEqualTo(CudaResult.OUT_OF_MEMORY);

    session.post(Ops.memFreeAsync, made.u64(0), STREAM);
    answer(Ops.streamSynchronize, STREAM);
    session.post(Ops.poolDestroy, POOL);
    assertThat(session.call(Ops.memAllocAsync, 64, POOL, STREAM, 1).result())
        .isEqualTo(CudaResult.INVALID_HANDLE);
  }

  @Test
  void peers_askedForAndEnabled_areTheDrivers() {
    int tag = 1000;
    session.send(Request.fenced(Ops.ctxRetainPrimary, OTHER_CONTEXT, tag, 1, 0));
    assertThat(session.reply(tag).result()).isZero();

    assertThat(answer(Ops.peerAttribute, 0, 1, 0, 1).u64(0)).isEqualTo(1);
    assertThat(answer(Ops.peerAttribute, 0, 1, 2, 1).u64(0)).isEqualTo(21);
    answer(Ops.ctxEnablePeer, OTHER_CONTEXT);
    assertThat(session.call(Ops.ctxEnablePeer, OTHER_CONTEXT).result()).isEqualTo(704);
    answer(Ops.ctxDisablePeer, OTHER_CONTEXT);
    assertThat(session.call(Ops.ctxDisablePeer, OTHER_CONTEXT).result()).isEqualTo(705);
  }

  @Test
  void greenContexts_ofPartsOfAGpu_haveStreamsOfTheirOwn() {
    byte[] whole = answer(Ops.resourceOfDevice, 0, 5, 1, 144).variable(0);
    assertThat(count(whole, 0)).isEqualTo(16);
    assertThat(words(answer(Ops.resourceSplit, 5, 0, 0, 0, 5, 8).variable(0)).getLong(0))
        .isEqualTo(2);
    byte[] parts = answer(Ops.resourceSplit, 5, 2, 6, 0, 5, 8 + 3 * 144).variable(0);
    assertThat(words(parts).getLong(0)).isEqualTo(2);
    assertThat(count(parts, 8)).isEqualTo(6);
    assertThat(count(parts, 8 + 2 * 144)).isEqualTo(4);
    ByteBuffer numbers = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putInt(6).putInt(8);
    answer(Ops.resourceDescribe, 9, numbers.array());

    assertThat(in(OTHER_CONTEXT, Ops.greenCreate, 0, 9, 1).result()).isZero();
    assertThat(count(in(OTHER_CONTEXT, Ops.resourceOfContext, 10, 1, 144).variable(0), 0))
        .isEqualTo(10);
    assertThat(count(answer(Ops.resourceOfContext, 11, 1, 144).variable(0), 0)).isEqualTo(16);
    long memory = session.allocate(64);
    session.send(Request.posted(Ops.streamCreate, OTHER_CONTEXT, 17, 1, 0));
    session.send(
        Request.posted(Ops.memcpyHtoD, OTHER_CONTEXT, memory, 17, new byte[] {1, 2, 3, 4}));
    assertThat(in(OTHER_CONTEXT, Ops.streamSynchronize, 17).result()).isZero();
    assertThat(session.download(memory, 4, STREAM)).containsExactly(1, 2, 3, 4);

    // What goes wrong in it is told where the program waits.
    session.send(Request.posted(Ops.streamDestroy, OTHER_CONTEXT, 99));
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_HANDLE);
    session.send(Request.posted(Ops.greenDestroy, OTHER_CONTEXT));
    assertThat(in(OTHER_CONTEXT, Ops.streamSynchronize, 0).result()).isNotZero();
    assertThat(session.call(Ops.streamSynchronize, 17).result())
        .isEqualTo(CudaResult.INVALID_HANDLE);
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
  }

  @Test
  void synchronisation_ofThePrimaryContext_waitsForItsGreenOnes() {
    answer(Ops.resourceOfDevice, 0, 5, 1, 144);
    answer(Ops.resourceDescribe, 9, new byte[] {5, 0, 0, 0});
    assertThat(in(OTHER_CONTEXT, Ops.greenCreate, 0, 9, 1).result()).isZero();
    long word = session.allocate(64);
    session.send(Request.posted(Ops.streamCreate, OTHER_CONTEXT, 17, 1, 0));
    for (int stream : new int[] {0, 17}) {
      byte[] wait = operation(WAIT_VALUE, word, 5 + stream);
      session.send(Request.posted(Ops.streamMemoryOperations, OTHER_CONTEXT, stream, wait));
      int synchronised = session.ask(Ops.ctxSynchronize);
      int query = session.ask(Ops.streamQuery, STREAM);

      assertThat(session.read().tag()).as("stream %d", stream).isEqualTo(query);
      session.post(Ops.streamMemoryOperations, STREAM, operation(WRITE_VALUE, word, 5 + stream));
      assertThat(session.reply(synchronised).result()).isZero();
    }
  }

  @Test
  void resources_ofOtherNumbersKindsOrContexts_areErrors() {
    answer(Ops.resourceOfDevice, 0, 5, 1, 144);
    assertThat(session.call(Ops.resourceOfDevice, 7, 6, 1, 144).result())
        .isEqualTo(CudaResult.INVALID_DEVICE);
    assertThat(session.call(Ops.resourceOfDevice, 0, 6, 2, 144).result()).isEqualTo(914);
    assertThat(session.call(Ops.resourceSplit, 6, 1, 7, 0, 5, 296).result())
        .isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(session.call(Ops.resourceSplit, 5, -1, 7, 0, 5, 296).result())
        .isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(session.call(Ops.resourceDescribe, 9, new byte[4]).result())
        .isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(session.call(Ops.resourceDescribe, 9, new byte[0]).result())
        .isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(in(OTHER_CONTEXT, Ops.greenCreate, 0, 9, 1).result())
        .isEqualTo(CudaResult.INVALID_VALUE);
    answer(Ops.resourceDescribe, 9, new byte[] {5, 0, 0, 0});
    assertThat(in(OTHER_CONTEXT, Ops.greenCreate, 1, 9, 1).result())
        .as("a GPU without a primary context")
        .isEqualTo(CudaResult.INVALID_VALUE);
    session.post(Ops.greenDestroy);
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_CONTEXT);
  }

  private Answer in(int context, int op, Object... fields) {
    int tag = nextTag++;
    session.send(Request.fenced(op, context, tag, fields));
    return session.reply(tag);
  }

  private static ByteBuffer words(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** How many multiprocessors a resource has. */
  private static int count(byte[] resources, int at) {
    assertThat(words(resources).getInt(at)).isEqualTo(1);
    return words(resources).getInt(at + 96);
  }

  @Test
  void valuesInMemory_writtenAndAwaited_orderStreams() {
    int other = 17;
    session.post(Ops.streamCreate, other, 1, 0);
    long word = session.allocate(64);

    session.post(Ops.streamMemoryOperations, STREAM, operation(WAIT_VALUE, word, 5));
    session.post(
        Ops.streamMemoryOperations,
        other,
        Request.all(operation(WRITE_VALUE, word + 4, 9), operation(WRITE_VALUE, word, 5)));

    answer(Ops.streamSynchronize, STREAM);
    assertThat(session.download(word, 8, STREAM)).containsExactly(5, 0, 0, 0, 9, 0, 0, 0);
    session.post(Ops.streamMemoryOperations, STREAM, operation(7, word, 5));
    assertThat(session.call(Ops.streamSynchronize, STREAM).result())
        .isEqualTo(CudaResult.INVALID_VALUE);
  }

  @Test
  void link_ofTwoParts_givesAnImageWithBoth() {
    answer(Ops.linkCreate, LINK, new byte[0], 256, 256);
    addPart(2, "first", "testcuda\nkernel fill 8 4 4\n");
    addPart(3, "second", "testcuda\nglobal table 64\n");
    Answer complete = answer(Ops.linkComplete, LINK, 256, 256);
    assertThat(variable(complete)).startsWith("added first;added second;");

    String image = variable(answer(Ops.linkRead, LINK, 0, 4096));
    session.post(Ops.linkDestroy, LINK);

    assertThat(session.load(image).result()).isZero();
    assertThat(answer(Ops.moduleGetGlobal, 16, "table", 1, 1).u64(8)).isEqualTo(64);
    assertThat(session.call(Ops.linkRead, LINK, 0, 4096).result())
        .isEqualTo(CudaResult.INVALID_HANDLE);
  }

  @Test
  void moduleLoad_fatBinariesOneAfterTheOther_areLinkedByTheDriver() {
    byte[] image =
        Request.all(
            fatBinary("testcuda\nkernel fill 8 4 4\n"), fatBinary("testcuda\nglobal table 32\n"));
    session.post(Ops.imageBegin, 1, image.length);
    session.post(Ops.imageData, 1, image);
    answer(Ops.moduleLoad, 16, 1, new byte[0], 1024, 1024, 4096);

    session.post(Ops.moduleBindFunction, 16, 16, "fill");
    assertThat(answer(Ops.moduleGetGlobal, 16, "table", 1, 1).u64(8)).isEqualTo(32);
    assertThat(answer(Ops.ctxSynchronize).result()).isZero();
  }

  private Answer answer(int op, Object... fields) {
    Answer answer = session.call(op, fields);
    assertThat(answer.result()).isZero();
    return answer;
  }

  private void addPart(int image, String name, String text) {
    session.post(Ops.imageBegin, image, text.length());
    session.post(Ops.imageData, image, text);
    answer(Ops.linkAdd, LINK, 1, image, name, new byte[0], 256, 256);
  }

  /** The first variable output of an answer, up to a zero byte. */
  private static String variable(Answer answer) {
    String text = new String(answer.variable(0), StandardCharsets.UTF_8);
    int end = text.indexOf(0);
    return end < 0 ? text : text.substring(0, end);
  }

  private static byte[] fatBinary(String image) {
    byte[] text = image.getBytes(StandardCharsets.UTF_8);
    ByteBuffer binary = ByteBuffer.allocate(80 + text.length).order(ByteOrder.LITTLE_ENDIAN);
    binary.putInt(FATBIN_MAGIC).putInt(16 << 16 | 1).putLong(64 + text.length);
    binary.putInt(1).putInt(64).putLong(text.length).position(80).put(text);
    return binary.array();
  }

  /** A CUstreamBatchMemOpParams on 32 bits. */
  private static byte[] operation(int kind, long address, int value) {
    ByteBuffer operation = ByteBuffer.allocate(48).order(ByteOrder.LITTLE_ENDIAN);
    operation.putInt(0, kind).putLong(8, address).putLong(16, value);
    return operation.array();
  }
}
