// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.graph;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.util.ArrayList;
import java.util.List;

/** Operations and what comes before what; nodes follow only nodes that were added before them. */
public final class SoftGraph {
  private final List<Node> nodes = new ArrayList<>();

  /** A node of one graph. */
  public static final class Node {
    private final SoftGraph graph;
    private final int index;
    private final int[] after;
    private volatile GraphOperation operation;

    private Node(SoftGraph graph, int index, int[] after, GraphOperation operation) {
      this.graph = graph;
      this.index = index;
      this.after = after;
      this.operation = operation;
    }

    public GraphOperation operation() {
      return operation;
    }

    /** Takes another operation; graphs that were instantiated stay as they are. */
    public void set(GraphOperation newOperation) {
      operation = newOperation;
    }

    SoftGraph graph() {
      return graph;
    }

    int index() {
      return index;
    }

    int[] after() {
      return after;
    }
  }

  /**
   * Adds a node.
   *
   * @throws GpuException INVALID_VALUE if it depends on a node of another graph
   */
  public synchronized Node add(GraphOperation operation, List<Node> dependencies) {
    int[] after = new int[dependencies.size()];
    for (int i = 0; i < after.length; i++) {
      if (dependencies.get(i).graph != this) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "a dependency on another graph's node");
      }
      after[i] = dependencies.get(i).index;
    }
    Node node = new Node(this, nodes.size(), after, operation);
    nodes.add(node);
    return node;
  }

  /**
   * Removes the node that was added last.
   *
   * @throws GpuException NOT_SUPPORTED for any other
   */
  public synchronized void remove(Node node) {
    if (nodes.isEmpty() || nodes.getLast() != node) {
      throw new GpuException(CudaStatus.NOT_SUPPORTED, "only the latest node can be removed");
    }
    nodes.removeLast();
  }

  /** Makes it executable as it is now. */
  public synchronized SoftGraphExec instantiate() {
    return new SoftGraphExec(this, List.copyOf(nodes));
  }
}
