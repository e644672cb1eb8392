// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.graph;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftCondition;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.soft.device.work.EmptyWork;
import io.gpupool.soft.device.work.Scheduler;
import io.gpupool.soft.device.work.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An executable graph: what launches to come will do. Those of the bodies of conditional nodes are
 * parts of it, and used by way of it alone. Any thread may call it.
 */
public final class SoftGraphExec {
  private final SoftGraph graph;
  private final int[][] after;
  private final GraphOperation[] operations;
  private final boolean[] disabled;

  /** Of each node; none but of conditional ones. */
  private final List<List<SoftGraphExec>> bodies = new ArrayList<>();

  /** Nodes that no other node follows. */
  private final boolean[] last;

  /** The end of the latest launch; guarded by the scheduler's lock. */
  private @Nullable Work latest;

  SoftGraphExec(SoftGraph graph, List<SoftGraph.Node> nodes) {
    this.graph = graph;
    int count = nodes.size();
    after = new int[count][];
    operations = new GraphOperation[count];
    disabled = new boolean[count];
    last = new boolean[count];
    for (int i = 0; i < count; i++) {
      after[i] = nodes.get(i).after();
      operations[i] = nodes.get(i).operation();
      bodies.add(
          operations[i] instanceof GraphOperation.Conditional conditional
              ? conditional.bodies().stream().map(SoftGraph::instantiate).toList()
              : List.of());
      last[i] = true;
      for (int before : after[i]) {
        last[before] = false;
      }
    }
  }

  /** Has later launches do something else in a node. */
  public synchronized void set(SoftGraph.Node node, GraphOperation newOne) {
    SoftGraphExec owner = owner(node);
    owner.operations[node.index()] = newOne;
  }

  /** Has later launches do nothing in a node, or again what it is for. */
  public synchronized void setEnabled(SoftGraph.Node node, boolean enabled) {
    SoftGraphExec owner = owner(node);
    owner.disabled[node.index()] = !enabled;
  }

  /** The operation of a node in launches to come. */
  public synchronized GraphOperation operation(SoftGraph.Node node) {
    return owner(node).operations[node.index()];
  }

  /**
   * Runs it in a stream's order, and after earlier launches of it wherever.
   *
   * @throws GpuException what any of its operations would throw now; then nothing is launched
   */
  public synchronized Completion launch(SoftStream stream) {
    SoftContext context = stream.context();
    context.requireUsable();
    Scheduler scheduler = context.device().gpu().scheduler();
    GraphRun run = run();
    GraphRun.Works works = run.works(scheduler);
    List<SoftCondition> conditions = run.conditions().filter(SoftCondition::assigned).toList();
    Work begin =
        conditions.isEmpty()
            ? new EmptyWork(scheduler)
            : new MemoryWork(
                context,
                (long) SoftCondition.BYTES * conditions.size(),
                time -> conditions.forEach(SoftCondition::assign));
    boolean ready;
    synchronized (scheduler.lock()) {
      scheduler.awaitRoom();
      context.order().place(stream, begin);
      scheduler.follow(begin, latest);
      ready = scheduler.enqueue(begin);
      run.link(scheduler, begin, works);
      stream.tail = works.end();
      latest = works.end();
    }
    if (ready) {
      scheduler.begin(begin);
    }
    return works.end();
  }

  private GraphRun run() {
    List<GraphRun.Node> nodes = new ArrayList<>();
    for (int i = 0; i < operations.length; i++) {
      nodes.add(
          new GraphRun.Node(
              after[i],
              last[i],
              disabled[i] ? null : operations[i],
              bodies.get(i).stream().map(SoftGraphExec::run).toList()));
    }
    return new GraphRun(nodes);
  }

  /** This, or the body that a node is of. */
  private SoftGraphExec owner(SoftGraph.Node node) {
    SoftGraphExec owner = find(node.graph());
    if (owner == null || node.index() >= owner.operations.length) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "a node of another graph");
    }
    return owner;
  }

  private @Nullable SoftGraphExec find(SoftGraph wanted) {
    return wanted == graph
        ? this
        : bodies.stream()
            .flatMap(List::stream)
            .map(body -> body.find(wanted))
            .filter(Objects::nonNull)
            .findFirst()
            .orElse(null);
  }
}
