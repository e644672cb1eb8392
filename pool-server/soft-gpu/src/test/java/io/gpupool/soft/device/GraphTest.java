// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.assertStatus;
import static io.gpupool.soft.device.TestGpu.readBytes;
import static io.gpupool.soft.device.graph.GraphOperation.Choice.IF;
import static io.gpupool.soft.device.graph.GraphOperation.Choice.SWITCH;
import static io.gpupool.soft.device.graph.GraphOperation.Choice.WHILE;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftCondition;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.graph.GraphOperation;
import io.gpupool.soft.device.graph.SoftGraph;
import io.gpupool.soft.device.graph.SoftGraphExec;
import io.gpupool.soft.device.work.Completion;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Executable graphs: their edges, their launches, and what can be changed between these. */
@Timeout(60)
final class GraphTest {
  private static final int BYTES = 64;

  private final SoftGpu gpu = TestGpu.create();
  private final SoftContext context = new SoftContext(gpu.device(0), 0);
  private final SoftStream stream = context.createStream(SoftStream.NON_BLOCKING, 0);
  private final SoftStream other = context.createStream(SoftStream.NON_BLOCKING, 0);
  private final SoftGraph graph = new SoftGraph();
  private final long one = context.allocate(BYTES);
  private final long two = context.allocate(BYTES);

  @AfterEach
  void close() {
    gpu.close();
  }

  @Test
  void launch_copyAfterFill_copiesWhatWasFilled() throws InterruptedException {
    SoftGraph.Node fill = graph.add(fill(one, 7), List.of());
    graph.add(copy(two, one), List.of(fill));

    graph.instantiate().launch(stream);

    assertThat(readBytes(stream, two, BYTES)).containsOnly(7);
  }

  @Test
  void launch_rowsWithPitch_leavesWhatLiesBetween() throws InterruptedException {
    SoftGraph.Node clear = graph.add(fill(one, 0), List.of());
    SoftGraph.Node rows =
        graph.add(new GraphOperation.Fill(context, one, 16, 5, 1, 4, 4), List.of(clear));
    SoftGraph.Node clearOther = graph.add(fill(two, 0), List.of());
    graph.add(
        new GraphOperation.Copy(
            context,
            new GraphOperation.Side(two, 8, 0),
            new GraphOperation.Side(one, 16, 0),
            4,
            4,
            1),
        List.of(rows, clearOther));

    graph.instantiate().launch(stream);

    byte[] expected = new byte[BYTES];
    for (int row = 0; row < 4; row++) {
      Arrays.fill(expected, 8 * row, 8 * row + 4, (byte) 5);
    }
    assertThat(readBytes(stream, two, BYTES)).isEqualTo(expected);
  }

  @Test
  void launch_conditionAssigned_choosesTheBody() throws InterruptedException {
    SoftGraph yes = new SoftGraph();
    SoftGraph no = new SoftGraph();
    yes.add(fill(one, 1), List.of());
    no.add(fill(one, 2), List.of());
    SoftGraph.Node node = graph.add(conditional(5, IF, yes, no), List.of());
    graph.add(copy(two, one), List.of(node));
    SoftGraphExec exec = graph.instantiate();

    exec.launch(stream);
    assertThat(readBytes(stream, two, BYTES)).containsOnly(1);
    exec.set(node, conditional(0, IF, yes, no));
    exec.launch(stream);

    assertThat(readBytes(stream, two, BYTES)).containsOnly(2);
  }

  @Test
  void launch_switchBeyondItsBodies_runsNone() throws InterruptedException {
    SoftGraph body = new SoftGraph();
    body.add(fill(one, 1), List.of());
    SoftGraph.Node clear = graph.add(fill(one, 0), List.of());
    graph.add(conditional(-1, SWITCH, body), List.of(clear));

    graph.instantiate().launch(stream);

    assertThat(readBytes(stream, one, BYTES)).containsOnly(0);
  }

  @Test
  void launch_loopWithinALoop_runsUntilTheConditionsAreCleared() throws InterruptedException {
    SoftCondition outer = context.createCondition(1, true);
    SoftCondition inner = context.createCondition(1, true);
    SoftGraph outerBody = new SoftGraph();
    SoftGraph innerBody = new SoftGraph();
    innerBody.add(fill(one, 3), List.of());
    innerBody.add(clear(inner), List.of());
    SoftGraph.Node loop =
        outerBody.add(new GraphOperation.Conditional(inner, WHILE, List.of(innerBody)), List.of());
    outerBody.add(clear(outer), List.of(loop));
    SoftGraph.Node node =
        graph.add(new GraphOperation.Conditional(outer, WHILE, List.of(outerBody)), List.of());
    graph.add(copy(two, one), List.of(node));
    SoftGraphExec exec = graph.instantiate();

    exec.launch(stream);
    exec.launch(other);

    assertThat(readBytes(other, two, BYTES)).containsOnly(3);
  }

  @Test
  void launch_bodyWithAnError_endsTheLoopAndFaultsTheContext() throws InterruptedException {
    SoftGraph body = new SoftGraph();
    body.add(fill(two, 1), List.of());
    graph.add(conditional(1, WHILE, body), List.of());
    SoftGraphExec exec = graph.instantiate();
    Gate gate = new Gate();
    stream.callHost(gate, false);
    Completion launch = exec.launch(stream);
    context.fail(new GpuException(CudaStatus.LAUNCH_FAILED, "as a kernel would"));
    gate.open();

    launch.await();
    assertStatus(context::requireUsable, CudaStatus.LAUNCH_FAILED);
  }

  private GraphOperation conditional(int value, GraphOperation.Choice kind, SoftGraph... bodies) {
    return new GraphOperation.Conditional(
        context.createCondition(value, true), kind, List.of(bodies));
  }

  private GraphOperation clear(SoftCondition condition) {
    return new GraphOperation.Fill(context, condition.handle(), 4, 0, 4, 1, 1);
  }

  @Test
  void launch_streamBusy_waitsForIt() throws InterruptedException {
    graph.add(fill(one, 9), List.of());
    Gate gate = new Gate();
    stream.callHost(gate, false);

    Completion launch = graph.instantiate().launch(stream);
    assertThat(launch.isDone()).isFalse();
    gate.open();

    launch.await();
    assertThat(readBytes(other, one, BYTES)).containsOnly(9);
  }

  @Test
  void launch_earlierLaunchInAnotherStream_waitsForThat() {
    graph.add(fill(one, 1), List.of());
    SoftGraphExec exec = graph.instantiate();
    Gate gate = new Gate();
    stream.callHost(gate, false);
    exec.launch(stream);

    Completion second = exec.launch(other);
    assertThat(second.isDone()).isFalse();
    gate.open();

    assertThat(second.isDone()).isTrue();
  }

  @Test
  void launch_emptyGraph_keepsItsPlaceInTheStream() {
    Gate gate = new Gate();
    stream.callHost(gate, false);

    Completion launch = graph.instantiate().launch(stream);
    assertThat(launch.isDone()).isFalse();
    gate.open();

    assertThat(launch.isDone()).isTrue();
  }

  @Test
  void events_waitAndRecord_orderStreamsAndTheGraph() {
    SoftEvent before = context.createEvent(0);
    SoftEvent after = context.createEvent(0);
    SoftGraph.Node wait = graph.add(new GraphOperation.Await(before), List.of());
    SoftGraph.Node fill = graph.add(fill(one, 2), List.of(wait));
    graph.add(new GraphOperation.Mark(after), List.of(fill));
    Gate gate = new Gate();
    other.callHost(gate, false);
    other.record(before);

    graph.instantiate().launch(stream);
    assertThat(after.completion().isDone()).isFalse();
    gate.open();

    assertThat(after.completion().isDone()).isTrue();
  }

  @Test
  void set_nodeOfExec_countsForLaterLaunchesAlone() throws InterruptedException {
    SoftGraph.Node node = graph.add(fill(one, 3), List.of());
    SoftGraphExec exec = graph.instantiate();
    SoftGraphExec untouched = graph.instantiate();
    Gate gate = new Gate();
    stream.callHost(gate, false);
    exec.launch(stream);

    exec.set(node, fill(one, 4));
    gate.open();

    assertThat(readBytes(stream, one, BYTES)).containsOnly(3);
    exec.launch(stream);
    assertThat(readBytes(stream, one, BYTES)).containsOnly(4);
    untouched.launch(stream);
    assertThat(readBytes(stream, one, BYTES)).containsOnly(3);
  }

  @Test
  void setEnabled_nodeSwitchedOff_isPassedOver() throws InterruptedException {
    SoftGraph.Node fill = graph.add(fill(one, 3), List.of());
    SoftGraph.Node again = graph.add(fill(one, 4), List.of(fill));
    graph.add(copy(two, one), List.of(again));
    SoftGraphExec exec = graph.instantiate();

    exec.setEnabled(again, false);
    exec.launch(stream);
    assertThat(readBytes(stream, two, BYTES)).containsOnly(3);
    exec.setEnabled(again, true);
    exec.launch(stream);

    assertThat(readBytes(stream, two, BYTES)).containsOnly(4);
  }

  @Test
  void launch_memoryFreedMeanwhile_isRefusedAndRunsNothing() throws InterruptedException {
    long gone = context.allocate(BYTES);
    graph.add(fill(one, 6), List.of());
    graph.add(fill(gone, 6), List.of());
    SoftGraphExec exec = graph.instantiate();
    stream.fill(one, 0, 1, 1, BYTES, 1);
    context.free(gone);

    assertStatus(() -> exec.launch(stream), CudaStatus.INVALID_VALUE);

    assertThat(readBytes(stream, one, BYTES)).containsOnly(1);
  }

  @Test
  void add_dependencyOnAnotherGraph_isRefused() {
    SoftGraph.Node foreign = new SoftGraph().add(new GraphOperation.Nothing(), List.of());

    assertStatus(
        () -> graph.add(new GraphOperation.Nothing(), List.of(foreign)), CudaStatus.INVALID_VALUE);
  }

  private GraphOperation fill(long address, int value) {
    return new GraphOperation.Fill(context, address, 0, value, 1, BYTES, 1);
  }

  private GraphOperation copy(long target, long source) {
    return new GraphOperation.Copy(
        context,
        new GraphOperation.Side(target, BYTES, BYTES),
        new GraphOperation.Side(source, BYTES, BYTES),
        BYTES,
        1,
        1);
  }
}
