// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.util.List;
import java.util.Optional;

/**
 * An executable graph. A launch puts all its works between two gates in the stream: the edges of
 * the graph become those of the works, so that nothing else has to know of graphs. Any thread may
 * call it.
 */
public final class SoftGraphExec {
  private final SoftGraph graph;
  private final int[][] after;
  private final GraphOperation[] operations;
  private final boolean[] disabled;

  /** Nodes that no other node follows. */
  private final boolean[] last;

  /** The end of the latest launch; guarded by the scheduler's lock. */
  private Work latest;

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
      last[i] = true;
      for (int before : after[i]) {
        last[before] = false;
      }
    }
  }

  /** Has later launches do something else in a node. */
  public synchronized void set(SoftGraph.Node node, GraphOperation newOne) {
    operations[index(node)] = newOne;
  }

  /** Has later launches do nothing in a node, or again what it is for. */
  public synchronized void setEnabled(SoftGraph.Node node, boolean enabled) {
    disabled[index(node)] = !enabled;
  }

  /** The operation of a node in launches to come. */
  public synchronized GraphOperation operation(SoftGraph.Node node) {
    return operations[index(node)];
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
    Work[] works = new Work[operations.length];
    Work[] awaited = new Work[operations.length];
    for (int i = 0; i < works.length; i++) {
      Optional<Work> work = disabled[i] ? Optional.empty() : operations[i].work();
      works[i] = work.orElseGet(() -> new GateWork(scheduler));
      awaited[i] = disabled[i] ? null : operations[i].awaited();
    }
    Work begin = new GateWork(scheduler);
    Work end = new GateWork(scheduler);
    boolean ready;
    synchronized (scheduler.lock()) {
      scheduler.awaitRoom();
      context.order(stream, begin);
      scheduler.follow(begin, latest);
      ready = scheduler.enqueue(begin);
      link(scheduler, works, awaited, begin, end);
      scheduler.enqueue(end);
      stream.tail = end;
      latest = end;
    }
    if (ready) {
      scheduler.begin(begin);
    }
    return end;
  }

  /** Puts all works between the gates; none is ready, for the first gate is still shut. */
  private void link(Scheduler scheduler, Work[] works, Work[] awaited, Work begin, Work end) {
    for (int i = 0; i < works.length; i++) {
      if (after[i].length == 0) {
        scheduler.follow(works[i], begin);
      }
      for (int before : after[i]) {
        scheduler.follow(works[i], works[before]);
      }
      scheduler.follow(works[i], awaited[i]);
      scheduler.enqueue(works[i]);
      if (last[i]) {
        scheduler.follow(end, works[i]);
      }
    }
    if (works.length == 0) {
      scheduler.follow(end, begin);
    }
  }

  private int index(SoftGraph.Node node) {
    if (node.graph() != graph || node.index() >= operations.length) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "a node of another graph");
    }
    return node.index();
  }
}
