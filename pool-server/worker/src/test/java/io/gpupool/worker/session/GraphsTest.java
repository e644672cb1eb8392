// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Graphs described by records, on the real-driver backend with the test driver behind it. */
@Timeout(60)
class GraphsTest extends SessionOnTestDriver {
  private static final String IMAGE = "testcuda\nkernel fill 8 4 4\nkernel add 8 8 8 4\n";
  private static final int FILL = 16;
  private static final int ADD = 17;
  private static final int STREAM = 16;
  private static final int EVENT = 16;
  private static final int GRAPH = 5;
  private static final int BODY = 6;
  private static final long NO_NODE = 0xffffffffL;

  private long a;
  private long b;

  @BeforeEach
  void start() {
    session.load(IMAGE);
    session.post(Ops.moduleBindFunction, 16, FILL, "fill");
    session.post(Ops.moduleBindFunction, 16, ADD, "add");
    session.post(Ops.streamCreate, STREAM, 1, 0);
    session.post(Ops.eventCreate, EVENT, 0);
    a = session.allocate(64);
    b = session.allocate(64);
  }

  @Test
  void launch_kernelsCopiesAndFills_runInTheOrderOfTheirEdges() {
    long c = session.allocate(64);
    make(
        record(0, kernel(FILL, new long[] {a, 16, 3}, 8, 4, 4)),
        record(1, copy(b, a, 64), 0),
        record(2, fill(c, 0, 16)),
        record(7, new byte[] {EVENT, 0, 0, 0, 0, 0, 0, 0}, 1),
        record(5, new byte[0], 3, 2),
        record(0, kernel(ADD, new long[] {a, b, c, 16}, 8, 8, 8, 4), 4));
    instantiate(0, NO_NODE);

    session.post(Ops.graphUpload, GRAPH, STREAM);
    session.post(Ops.graphLaunch, GRAPH, STREAM);

    assertThat(ints(session.download(c, 64, STREAM))).containsOnly(6);
    assertThat(session.call(Ops.eventQuery, EVENT).result()).isZero();
  }

  /** Such as programmatic dependent launch (6), which captured programs have in their launches. */
  @Test
  void kernel_withAttributesOfLaunchesAlone_isANodeWithoutThem() {
    byte[] kernel = kernel(FILL, Map.of(0, 0, 3, 1, 6, 1, 8, -1), new long[] {a, 16, 3}, 8, 4, 4);
    make(record(0, kernel));
    instantiate(0, NO_NODE);

    session.post(Ops.graphLaunch, GRAPH, STREAM);

    assertThat(ints(session.download(a, 64, STREAM))).containsOnly(3);
  }

  @Test
  void setNode_kernelCopyAndFill_changeLaterLaunches() {
    make(
        record(0, kernel(FILL, new long[] {a, 16, 3}, 8, 4, 4)),
        record(1, copy(b, a, 64), 0),
        record(2, fill(a, 9, 16), 1));
    instantiate(0, NO_NODE);

    session.post(Ops.graphSetNode, GRAPH, 0, kernel(FILL, new long[] {a, 16, 5}, 8, 4, 4));
    session.post(Ops.graphSetNode, GRAPH, 1, copy(b, a, 32));
    session.post(Ops.graphSetNode, GRAPH, 2, fill(a, 8, 16));
    session.post(Ops.graphLaunch, GRAPH, STREAM);

    assertThat(ints(session.download(b, 32, STREAM))).containsOnly(5);
    assertThat(ints(session.download(a, 64, STREAM))).containsOnly(8);
  }

  @Test
  void setEnabled_switchedOff_isPassedOver() {
    make(record(2, fill(a, 1, 16)), record(0, kernel(FILL, new long[] {a, 16, 3}, 8, 4, 4), 0));
    instantiate(0, NO_NODE);

    session.post(Ops.graphSetEnabled, GRAPH, 1, 0);
    session.post(Ops.graphLaunch, GRAPH, STREAM);
    assertThat(ints(session.download(a, 64, STREAM))).containsOnly(1);
    session.post(Ops.graphSetEnabled, GRAPH, 1, 1);
    session.post(Ops.graphLaunch, GRAPH, STREAM);

    assertThat(ints(session.download(a, 64, STREAM))).containsOnly(3);
  }

  @Test
  void instantiate_badNode_namesIt() {
    make(
        record(2, fill(a, 1, 16)),
        record(0, kernel(99, new long[] {a, 16, 3}, 8, 4, 4), 0),
        record(5, new byte[0], 1));

    instantiate(CudaResult.INVALID_HANDLE, 1);

    session.post(Ops.graphLaunch, GRAPH, STREAM);
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_HANDLE);
  }

  @Test
  void instantiate_dependencyOnALaterNode_isRefused() {
    make(record(5, new byte[0], 0));

    instantiate(CudaResult.INVALID_VALUE, 0);
  }

  @Test
  void instantiate_kindOfNodeThatIsNone_isNotSupported() {
    make(record(9, new byte[0]));

    instantiate(CudaResult.NOT_SUPPORTED, 0);
  }

  @Test
  void addNodes_recordLongerThanItsFrame_endsTheSession() throws Exception {
    session.post(Ops.graphCreate, GRAPH);
    byte[] record = record(5, new byte[0]);
    record[0] = 64;

    session.post(Ops.graphAddNodes, GRAPH, record);

    assertThat(session.reason()).contains("malformed frame: graphAddNodes");
  }

  @Test
  void destroy_graphOfThatNumber_canBeMadeAgain() {
    make(record(2, fill(a, 1, 16)));
    instantiate(0, NO_NODE);
    session.post(Ops.graphDestroy, GRAPH);

    make(record(2, fill(a, 2, 16)));
    instantiate(0, NO_NODE);
    session.post(Ops.graphLaunch, GRAPH, STREAM);

    assertThat(ints(session.download(a, 64, STREAM))).containsOnly(2);
  }

  @Test
  void launch_conditionalNode_runsTheBodyThatTheConditionSays() {
    long handle = condition(1);
    addNodes(GRAPH, record(13, conditional(handle, 0, BODY, BODY + 1)));
    addNodes(BODY, record(2, fill(a, 5, 16)));
    addNodes(BODY + 1, record(2, fill(a, 6, 16)));
    instantiate(0, NO_NODE);

    session.post(Ops.graphLaunch, GRAPH, STREAM);
    assertThat(ints(session.download(a, 64, STREAM))).containsOnly(5);

    session.post(Ops.graphSetNode, GRAPH, 0, conditional(condition(0), 0, 0, 0));
    session.post(Ops.graphSetNode, BODY + 1, 0, fill(a, 7, 16));
    session.post(Ops.graphLaunch, GRAPH, STREAM);
    assertThat(ints(session.download(a, 64, STREAM))).containsOnly(7);
  }

  @Test
  void launch_loopWhoseBodyClearsTheCondition_ends() {
    long handle = condition(1);
    addNodes(GRAPH, record(13, conditional(handle, 1, BODY)), record(2, fill(b, 9, 16), 0));
    addNodes(
        BODY,
        record(0, kernel(FILL, new long[] {a, 16, 4}, 8, 4, 4)),
        record(0, kernel(FILL, new long[] {handle, 1, 0}, 8, 4, 4), 0));
    instantiate(0, NO_NODE);

    session.post(Ops.graphLaunch, GRAPH, STREAM);

    assertThat(ints(session.download(a, 64, STREAM))).containsOnly(4);
    assertThat(ints(session.download(b, 64, STREAM))).containsOnly(9);
  }

  @Test
  void reset_graphWithConditions_canBeFilledAgainForThem() {
    long handle = condition(1);
    addNodes(GRAPH, record(13, conditional(handle, 0, BODY)), record(5, new byte[0], 0));
    instantiate(0, NO_NODE);
    session.post(Ops.graphReset, GRAPH);

    addNodes(GRAPH, record(13, conditional(handle, 0, BODY)));
    addNodes(BODY, record(2, fill(a, 2, 16)));
    instantiate(0, NO_NODE);
    session.post(Ops.graphLaunch, GRAPH, STREAM);

    assertThat(ints(session.download(a, 64, STREAM))).containsOnly(2);
  }

  @Test
  void instantiate_badNodeInABody_isRefused() {
    long handle = condition(1);
    addNodes(GRAPH, record(13, conditional(handle, 0, BODY)));
    addNodes(BODY, record(5, new byte[0], 3));

    instantiate(CudaResult.INVALID_VALUE, NO_NODE);
  }

  @Test
  void body_launchedOrDestroyedByItself_isRefused() {
    long handle = condition(1);
    addNodes(GRAPH, record(13, conditional(handle, 0, BODY)));
    instantiate(0, NO_NODE);

    session.post(Ops.graphLaunch, BODY, STREAM);
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_HANDLE);
    session.post(Ops.graphDestroy, BODY);
    assertThat(session.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.INVALID_VALUE);
  }

  /** A condition of the graph that launches begin with this value. */
  private long condition(int value) {
    Answer answer = session.call(Ops.graphCondition, GRAPH, value, 1, 1);
    assertThat(answer.result()).isZero();
    return answer.u64(0);
  }

  private void addNodes(int graph, byte[]... records) {
    session.post(Ops.graphAddNodes, graph, Request.all(records));
  }

  private static byte[] conditional(long handle, int kind, int... bodies) {
    ByteBuffer work = words(16 + ((4 * bodies.length + 7) & -8));
    work.putLong(handle).putInt(kind).putInt(bodies.length);
    for (int body : bodies) {
      work.putInt(body);
    }
    return work.array();
  }

  private void make(byte[]... records) {
    session.post(Ops.graphCreate, GRAPH);
    session.post(Ops.graphAddNodes, GRAPH, Request.all(records));
  }

  private void instantiate(int status, long failedNode) {
    Answer answer = session.call(Ops.graphInstantiate, GRAPH, 0, 1, 1);
    assertThat(answer.result()).isZero();
    assertThat(answer.u64(0)).isEqualTo(status);
    assertThat(answer.u64(8)).isEqualTo(failedNode);
  }

  private static byte[] record(int type, byte[] work, int... after) {
    int list = (4 * after.length + 7) & -8;
    ByteBuffer record = words(16 + list + work.length);
    record.putInt(record.capacity()).putShort((short) type).putShort((short) 0);
    record.putInt(after.length).putInt(work.length);
    for (int before : after) {
      record.putInt(before);
    }
    record.position(16 + list).put(work);
    return record.array();
  }

  /** One block of 32 threads; parameters of 4 and 8 bytes, aligned to their size. */
  private static byte[] kernel(int function, long[] values, int... sizes) {
    return kernel(function, Map.of(), values, sizes);
  }

  private static byte[] kernel(
      int function, Map<Integer, Integer> attributes, long[] values, int... sizes) {
    ByteBuffer packed = words(64);
    for (int i = 0; i < values.length; i++) {
      packed.position((packed.position() + sizes[i] - 1) & -sizes[i]);
      if (sizes[i] == 8) {
        packed.putLong(values[i]);
      } else {
        packed.putInt((int) values[i]);
      }
    }
    int bytes = packed.position();
    ByteBuffer work = words(40 + 72 * attributes.size() + ((bytes + 7) & -8));
    work.putInt(function).putInt(1).putInt(1).putInt(1).putInt(32).putInt(1).putInt(1);
    work.putInt(0).putInt(attributes.size()).putInt(bytes);
    int at = work.position();
    for (Map.Entry<Integer, Integer> attribute : new TreeMap<>(attributes).entrySet()) {
      work.putInt(at, attribute.getKey()).putInt(at + 8, attribute.getValue());
      at += 72;
    }
    work.position(at).put(packed.array(), 0, bytes);
    return work.array();
  }

  private static byte[] copy(long target, long source, int bytes) {
    ByteBuffer work = words(200);
    putSide(work, 0, source, bytes);
    putSide(work, 88, target, bytes);
    work.putLong(176, bytes).putLong(184, 1).putLong(192, 1);
    return work.array();
  }

  private static void putSide(ByteBuffer work, int at, long address, int bytes) {
    work.putInt(at + 32, 2).putLong(at + 48, address).putLong(at + 72, bytes).putLong(at + 80, 1);
  }

  private static byte[] fill(long target, int value, int count) {
    ByteBuffer work = words(40);
    work.putLong(target).putLong(0).putInt(value).putInt(4).putLong(count).putLong(1);
    return work.array();
  }

  private static int[] ints(byte[] bytes) {
    int[] values = new int[bytes.length / 4];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(values);
    return values;
  }

  private static ByteBuffer words(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
