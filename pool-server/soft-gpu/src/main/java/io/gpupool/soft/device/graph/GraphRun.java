// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.graph;

import io.gpupool.soft.device.context.SoftCondition;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.soft.device.work.EmptyWork;
import io.gpupool.soft.device.work.Scheduler;
import io.gpupool.soft.device.work.Work;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One launch of a graph, unaffected by later changes of the graph. The edges of the graph become
 * those of works between two gates, so that nothing else has to know of graphs.
 *
 * @param nodes in an order that their edges allow
 */
record GraphRun(List<Node> nodes) {
  /**
   * A node.
   *
   * @param after places of those that it follows
   * @param last whether no other follows it
   * @param operation null if it is disabled
   * @param bodies of a conditional one
   */
  record Node(
      int[] after, boolean last, @Nullable GraphOperation operation, List<GraphRun> bodies) {
    Work work(Scheduler scheduler) {
      if (operation == null) {
        return new EmptyWork(scheduler);
      }
      return operation instanceof GraphOperation.Conditional conditional
          ? new ConditionalWork(conditional, bodies)
          : operation.work().orElseGet(() -> new EmptyWork(scheduler));
    }
  }

  /** The works of a run, not yet in order. */
  record Works(Work[] works, @Nullable Work[] awaited, Work end) {}

  /** The conditions of its nodes and of those of their bodies. */
  Stream<SoftCondition> conditions() {
    return nodes.stream()
        .filter(node -> !node.bodies.isEmpty())
        .flatMap(node ->
            Stream.concat(
                node.operation instanceof GraphOperation.Conditional conditional
                    ? Stream.of(conditional.condition())
                    : Stream.empty(),
                node.bodies.stream().flatMap(GraphRun::conditions)));
  }

  /** Throws what any of the operations would throw now. */
  Works works(Scheduler scheduler) {
    Work[] works = new Work[nodes.size()];
    @Nullable Work[] awaited = new Work[nodes.size()];
    try {
      for (int i = 0; i < works.length; i++) {
        Node node = nodes.get(i);
        works[i] = node.work(scheduler);
        awaited[i] = node.operation == null ? null : node.operation.awaited();
      }
    } catch (RuntimeException e) {
      endMarks(scheduler, works);
      throw e;
    }
    return new Works(works, awaited, new EmptyWork(scheduler));
  }

  /** Events that were recorded by a launch that does not come about: nobody may wait for them. */
  private static void endMarks(Scheduler scheduler, Work[] works) {
    for (Work work : works) {
      if (work instanceof SoftEvent.Mark mark) {
        synchronized (scheduler.lock()) {
          scheduler.enqueue(mark);
        }
        scheduler.begin(mark);
      }
    }
  }

  /**
   * Puts all works between the gates; none is ready, for the first gate is still shut. To be called
   * with the scheduler's lock held.
   */
  void link(Scheduler scheduler, Work begin, Works run) {
    for (int i = 0; i < run.works.length; i++) {
      Node node = nodes.get(i);
      if (node.after.length == 0) {
        scheduler.follow(run.works[i], begin);
      }
      for (int before : node.after) {
        scheduler.follow(run.works[i], run.works[before]);
      }
      scheduler.follow(run.works[i], run.awaited[i]);
      scheduler.enqueue(run.works[i]);
      if (node.last) {
        scheduler.follow(run.end, run.works[i]);
      }
    }
    if (run.works.length == 0) {
      scheduler.follow(run.end, begin);
    }
    scheduler.enqueue(run.end);
  }

  /** Begins it at once, whatever is in streams: the body of a conditional node. */
  Completion start(SoftContext context) {
    Scheduler scheduler = context.device().gpu().scheduler();
    Works run = works(scheduler);
    Work begin = new EmptyWork(scheduler);
    synchronized (scheduler.lock()) {
      scheduler.enqueue(begin);
      link(scheduler, begin, run);
    }
    scheduler.begin(begin);
    return run.end;
  }
}
