// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.graph;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Dispatcher;
import io.gpupool.cuda.GraphNodeRecord;
import io.gpupool.cuda.GraphNodeType;
import io.gpupool.cuda.GraphOps;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.context.Contexts;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.journal.Journal;
import io.gpupool.worker.session.quota.FirstLaunches;
import io.gpupool.worker.session.quota.OwnedMemory;
import io.gpupool.worker.session.stream.BlockingCalls;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Graphs, which the client describes node by node. Used by the session's thread alone. */
public final class Graphs implements GraphOps {
  private static final int MAX_GRAPHS = 1 << 16;
  private static final int MAX_NODES = 1 << 20;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final FirstLaunches firstLaunches;
  private final Contexts contexts;
  private final BlockingCalls blocking;
  private final Journal journal;
  private final GraphWork work;
  private final Map<Integer, Graph> graphs = new HashMap<>();
  private long totalNodes;

  public Graphs(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      OwnedMemory owned,
      FirstLaunches firstLaunches,
      Contexts contexts,
      BlockingCalls blocking,
      Journal journal) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.firstLaunches = firstLaunches;
    this.contexts = contexts;
    this.blocking = blocking;
    this.journal = journal;
    work = new GraphWork(backend, call, handles, owned, firstLaunches);
  }

  @Override
  public int graphCreate(int number) {
    if (!call.context().exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    if (graphs.containsKey(number)) {
      return CudaResult.INVALID_VALUE;
    }
    if (graphs.size() == MAX_GRAPHS) {
      return CudaResult.OUT_OF_MEMORY;
    }
    long out = call.out();
    int result = backend.cuGraphCreate(out, 0);
    if (result == 0) {
      graphs.put(number, new Graph(call.context(), Memory.getLong(out)));
    }
    return result;
  }

  /** Adds nodes; an error of a node is reported when its graph is instantiated. */
  @Override
  public int graphAddNodes(int number, WireStruct records) {
    Graph graph = graphs.get(number);
    if (graph == null || graph.root.exec != 0) {
      return CudaResult.INVALID_VALUE;
    }
    long lengthBytes = records.lengthBytes();
    try (Arena arena = Arena.ofConfined()) {
      long dependencies = arena.allocate(lengthBytes * 2 + 8, 8).address();
      for (long at = 0; at < lengthBytes && graph.failure == 0; ) {
        long left = lengthBytes - at;
        if (left < GraphNodeRecord.BYTES) {
          return Dispatcher.MALFORMED;
        }
        long bytes = records.u32(at + GraphNodeRecord.LENGTH);
        long after = records.u32(at + GraphNodeRecord.AFTER_COUNT);
        long workBytes = records.u32(at + GraphNodeRecord.WORK_BYTES);
        if (bytes > left || bytes != workStart(after) + workBytes) {
          return Dispatcher.MALFORMED;
        }
        addNode(graph, records.part(at, bytes), (int) after, dependencies);
        at += bytes;
      }
    }
    return CudaResult.SUCCESS;
  }

  private void addNode(Graph graph, WireStruct record, int after, long dependencies) {
    int type = record.u16(GraphNodeRecord.TYPE);
    int contextNumber = record.u16(GraphNodeRecord.CONTEXT);
    ContextState context = contextNumber == 0 ? call.context() : contexts.find(contextNumber);
    if (graph.count == MAX_NODES || totalNodes >= 4L * MAX_NODES) {
      graph.fail(CudaResult.OUT_OF_MEMORY);
      return;
    }
    if (!context.exists()) {
      graph.fail(CudaResult.INVALID_CONTEXT);
      return;
    }
    for (int i = 0; i < after; i++) {
      int before = record.i32(GraphNodeRecord.BYTES + 4L * i);
      if (before < 0 || before >= graph.count) {
        graph.fail(CudaResult.INVALID_VALUE);
        return;
      }
      Memory.putLong(dependencies + 8L * i, graph.nodes[before]);
    }
    long workStart = workStart(after);
    WireStruct source = record.part(workStart, record.lengthBytes() - workStart);
    boolean foreign = context.handle != call.context().handle;
    if (foreign) {
      backend.cuCtxSetCurrent(context.handle);
    }
    GraphWork.Place place = new GraphWork.Place(graph.handle, dependencies, after, context.handle);
    long node = work.add(type, place, source);
    if (foreign) {
      backend.cuCtxSetCurrent(call.context().handle);
    }
    if (node <= 0) {
      graph.fail((int) -node);
    } else {
      graph.add(node, type);
      totalNodes++;
      if (type == GraphNodeType.CONDITIONAL) {
        takeBodies(graph, source);
      }
    }
  }

  /** Numbers the graphs that came with the conditional node added last, as its work says. */
  private void takeBodies(Graph graph, WireStruct source) {
    for (int i = 0; i < ConditionalNode.count(source); i++) {
      int number = ConditionalNode.bodyNumber(source, i);
      if (graphs.containsKey(number) || graphs.size() == MAX_GRAPHS) {
        graph.fail(CudaResult.INVALID_VALUE);
        return;
      }
      graphs.put(number, new Graph(graph, work.body(i)));
      graph.bodies.add(number);
    }
  }

  /** Makes a condition of a graph, and the graph if there is none of that number. */
  @Override
  public void graphCondition(int tag, int number, int value, int flags, boolean handleWanted) {
    int result = graphs.containsKey(number) ? CudaResult.SUCCESS : graphCreate(number);
    long out = call.out();
    if (result == 0) {
      Graph graph = Objects.requireNonNull(graphs.get(number));
      result =
          backend.cuGraphConditionalHandleCreate(
              out, graph.handle, call.context().handle, value, flags);
      if (result == 0) {
        graph.conditions.add(Memory.getLong(out));
        work.addCondition(Memory.getLong(out));
      }
    }
    call.reply(tag, result, out, result == 0 && handleWanted ? Long.BYTES : 0);
  }

  /** Takes the nodes of a graph, but leaves its conditions. */
  @Override
  public int graphReset(int number) {
    Graph graph = graphs.get(number);
    if (graph == null || !graph.isRoot()) {
      return CudaResult.INVALID_VALUE;
    }
    int result = graph.exec == 0 ? 0 : backend.cuGraphExecDestroy(graph.exec);
    for (int i = graph.count - 1; i >= 0; i--) {
      int other = backend.cuGraphDestroyNode(graph.nodes[i]);
      result = result == 0 ? other : result;
    }
    dropBodies(graph);
    totalNodes -= graph.count;
    graph.clear();
    return result;
  }

  private void dropBodies(Graph graph) {
    for (int number : graph.bodies) {
      Graph body = Objects.requireNonNull(graphs.remove(number));
      journal.end("graph", number);
      dropBodies(body);
      body.conditions.forEach(work::removeCondition);
      totalNodes -= body.count;
    }
    graph.bodies.clear();
  }

  private static long workStart(long after) {
    return GraphNodeRecord.BYTES + (4 * after + 7 & -8);
  }

  @Override
  public void graphInstantiate(
      int tag, int number, long flags, boolean statusWanted, boolean failedNodeWanted) {
    Graph graph = graphs.get(number);
    if (graph == null || !graph.isRoot() || graph.exec != 0) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    long out = call.out();
    if (graph.failure == 0) {
      graph.failure = failureOfBodies(graph);
    }
    if (graph.failure == 0) {
      graph.failure =
          blocking.call(() -> backend.cuGraphInstantiateWithFlags(out, graph.handle, flags));
    }
    if (graph.failure == 0) {
      graph.exec = Memory.getLong(out);
      firstLaunches.measure(call.context());
    }
    int length = 0;
    if (statusWanted) {
      Memory.putLong(out, graph.failure);
      length = 8;
    }
    if (failedNodeWanted) {
      Memory.putLong(out + length, graph.failedNode & 0xffffffffL);
      length += 8;
    }
    call.reply(tag, 0, out, length);
  }

  private int failureOfBodies(Graph graph) {
    for (int number : graph.bodies) {
      Graph body = Objects.requireNonNull(graphs.get(number));
      int failure = body.failure == 0 ? failureOfBodies(body) : body.failure;
      if (failure != 0) {
        return failure;
      }
    }
    return 0;
  }

  @Override
  public int graphSetNode(int number, int node, WireStruct source) {
    Graph graph = executable(number);
    if (graph == null || node < 0 || node >= graph.count) {
      return CudaResult.INVALID_VALUE;
    }
    return work.set(
        graph.types[node], graph.root.exec, graph.nodes[node], source, call.context().handle);
  }

  @Override
  public int graphSetEnabled(int number, int node, int enabled) {
    Graph graph = executable(number);
    return graph == null || node < 0 || node >= graph.count
        ? CudaResult.INVALID_VALUE
        : backend.cuGraphNodeSetEnabled(graph.root.exec, graph.nodes[node], enabled);
  }

  @Override
  public int graphUpload(int number, int stream) {
    Graph graph = executable(number);
    long handle = handles.stream(stream);
    if (graph == null || !graph.isRoot() || handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    return backend.cuGraphUpload(graph.exec, handle);
  }

  @Override
  public int graphLaunch(int number, int stream) {
    Graph graph = executable(number);
    long handle = handles.stream(stream);
    if (graph == null || !graph.isRoot() || handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    return backend.cuGraphLaunch(graph.exec, handle);
  }

  @Override
  public int graphDestroy(int number) {
    Graph graph = graphs.get(number);
    if (graph == null || !graph.isRoot()) {
      return CudaResult.INVALID_VALUE;
    }
    dropBodies(graph);
    graphs.remove(number);
    return release(graph);
  }

  /** The graphs of a context that is going down. */
  public void forget(ContextState context) {
    for (Iterator<Graph> all = graphs.values().iterator(); all.hasNext(); ) {
      Graph graph = all.next();
      if (graph.context == context) {
        release(graph);
        all.remove();
      }
    }
  }

  /** The backend's parts of it; bodies are parts of theirs. */
  private int release(Graph graph) {
    totalNodes -= graph.count;
    graph.conditions.forEach(work::removeCondition);
    if (!graph.isRoot()) {
      return CudaResult.SUCCESS;
    }
    // What is under way goes on; its launches are the driver's.
    int result = graph.exec == 0 ? 0 : backend.cuGraphExecDestroy(graph.exec);
    int other = backend.cuGraphDestroy(graph.handle);
    return result == 0 ? other : result;
  }

  private @Nullable Graph executable(int number) {
    Graph graph = graphs.get(number);
    return graph == null || graph.root.exec == 0 ? null : graph;
  }
}
