// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.graph;

import io.gpupool.worker.session.core.ContextState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * One graph of a program; executable once it is instantiated, a body with the graph it is in. Used
 * by the session's thread alone.
 */
final class Graph {
  private static final int NO_NODE = -1;

  final ContextState context;
  final long handle;

  /** The graph that this is a body in, at whatever depth; itself if in none. */
  final Graph root;

  /** Numbers of the bodies of its conditional nodes. */
  final List<Integer> bodies = new ArrayList<>();

  /** The backend's handles of its conditions. */
  final List<Long> conditions = new ArrayList<>();

  long exec;
  long[] nodes = new long[16];
  byte[] types = new byte[16];
  int count;
  int failure;
  int failedNode = NO_NODE;

  Graph(ContextState context, long handle) {
    this.context = context;
    this.handle = handle;
    root = this;
  }

  Graph(Graph outer, long handle) {
    context = outer.context;
    this.handle = handle;
    root = outer.root;
  }

  void add(long node, int type) {
    if (count == nodes.length) {
      nodes = Arrays.copyOf(nodes, 2 * count);
      types = Arrays.copyOf(types, 2 * count);
    }
    nodes[count] = node;
    types[count++] = (byte) type;
  }

  /** Notes that the next node cannot be added. */
  void fail(int result) {
    failure = result;
    failedNode = count;
  }

  /** Forgets the nodes. */
  void clear() {
    exec = 0;
    count = 0;
    failure = 0;
    failedNode = NO_NODE;
  }

  /** Returns whether it is no body in another graph. */
  boolean isRoot() {
    return root == this;
  }
}
