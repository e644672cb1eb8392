// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.graph;

import io.gpupool.soft.device.graph.GraphOperation;
import io.gpupool.soft.device.graph.SoftGraph;
import io.gpupool.worker.soft.state.SoftState;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/** A graph and the handles of its nodes, which go with it. Used by the session's thread alone. */
final class NumberedGraph {
  private final SoftState state;
  private final SoftGraph graph = new SoftGraph();
  private final List<Long> nodes = new ArrayList<>();

  /**
   * What a node's handle names.
   *
   * @param bodyHandles those of a conditional node's bodies, where the caller reads them
   */
  record Node(NumberedGraph graph, SoftGraph.Node node, MemorySegment bodyHandles) {}

  NumberedGraph(SoftState state) {
    this.state = state;
  }

  SoftGraph graph() {
    return graph;
  }

  /** Adds a node; gives its handle. */
  long add(GraphOperation operation, List<SoftGraph.Node> after, List<NumberedGraph> bodies) {
    MemorySegment handles = MemorySegment.NULL;
    if (!bodies.isEmpty()) {
      handles = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, bodies.size());
      for (int i = 0; i < bodies.size(); i++) {
        handles.setAtIndex(ValueLayout.JAVA_LONG, i, state.handles().add(bodies.get(i)));
      }
    }
    long handle = state.handles().add(new Node(this, graph.add(operation, after), handles));
    nodes.add(handle);
    return handle;
  }

  /** Removes the node that was added last. */
  void removeLast(Node node) {
    graph.remove(node.node);
    forget(nodes.removeLast());
  }

  /** Takes all handles back. */
  void clear() {
    nodes.forEach(this::forget);
    nodes.clear();
  }

  private void forget(long handle) {
    Node node = state.handles().remove(handle, Node.class);
    for (long i = 0; i < node.bodyHandles.byteSize() / Long.BYTES; i++) {
      long body = node.bodyHandles.getAtIndex(ValueLayout.JAVA_LONG, i);
      state.handles().remove(body, NumberedGraph.class).clear();
    }
  }
}
