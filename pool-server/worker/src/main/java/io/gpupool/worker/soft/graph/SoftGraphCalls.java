// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.graph;

import io.gpupool.cuda.GraphCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftEvent;
import io.gpupool.soft.device.graph.GraphOperation;
import io.gpupool.soft.device.graph.SoftGraph;
import io.gpupool.soft.device.graph.SoftGraphExec;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.module.LoadedFunction;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** Driver calls about graphs, as far as a worker's session makes them. */
public final class SoftGraphCalls extends SoftCalls implements GraphCalls {
  public SoftGraphCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuGraphCreate(long graph, int flags) {
    return call(() -> Memory.putLong(graph, state().handles().add(new NumberedGraph(state()))));
  }

  @Override
  public int cuGraphDestroy(long graph) {
    return call(() -> state().handles().remove(graph, NumberedGraph.class).clear());
  }

  @Override
  public int cuGraphDestroyNode(long node) {
    return call(() -> {
      NumberedGraph.Node target = numbered(node);
      target.graph().removeLast(target);
    });
  }

  @Override
  public int cuGraphConditionalHandleCreate(
      long handle, long graph, long context, int value, int flags) {
    return call(() -> {
      graph(graph);
      if ((flags & ~ConditionalParams.ASSIGN_DEFAULT) != 0) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "unknown flags " + flags);
      }
      SoftContext owner = context == 0 ? context() : state().context(context);
      Memory.putLong(handle, owner.createCondition(value, flags != 0).handle());
    });
  }

  @Override
  public int cuGraphAddNode_v2(
      long node, long graph, long dependencies, long dependencyData, long count, long params) {
    return call(() -> {
      ConditionalParams parsed = ConditionalParams.read(params, context());
      List<NumberedGraph> bodies =
          IntStream.range(0, parsed.bodies()).mapToObj(i -> new NumberedGraph(state())).toList();
      long handle =
          graph(graph)
              .add(
                  parsed.operation(bodies.stream().map(NumberedGraph::graph).toList()),
                  after(dependencies, count),
                  bodies);
      ConditionalParams.putBodies(params, numbered(handle).bodyHandles());
      Memory.putLong(node, handle);
    });
  }

  /** What is left as it was are the bodies, and how it chooses among them. */
  @Override
  public int cuGraphExecNodeSetParams(long exec, long node, long params) {
    return call(() -> {
      ConditionalParams parsed = ConditionalParams.read(params, context());
      exec(exec).set(node(node), parsed.changed(exec(exec).operation(node(node))));
    });
  }

  @Override
  public int cuGraphAddKernelNode_v2(
      long node, long graph, long dependencies, long count, long params) {
    return call(() -> add(node, graph, dependencies, count, kernel(params)));
  }

  @Override
  public int cuGraphKernelNodeSetAttribute(long node, int attribute, long value) {
    return call(() -> {
      SoftGraph.Node target = node(node);
      GraphOperation changed =
          GraphParams.withAttribute((GraphOperation.Kernel) target.operation(), attribute, value);
      changed.check();
      target.set(changed);
    });
  }

  @Override
  public int cuGraphAddMemcpyNode(
      long node, long graph, long dependencies, long count, long params, long context) {
    return call(() -> add(node, graph, dependencies, count, GraphParams.copy(context(), params)));
  }

  @Override
  public int cuGraphAddMemsetNode(
      long node, long graph, long dependencies, long count, long params, long context) {
    return call(() -> add(node, graph, dependencies, count, GraphParams.fill(context(), params)));
  }

  @Override
  public int cuGraphAddEmptyNode(long node, long graph, long dependencies, long count) {
    return call(() -> add(node, graph, dependencies, count, new GraphOperation.Nothing()));
  }

  @Override
  public int cuGraphAddEventRecordNode(
      long node, long graph, long dependencies, long count, long event) {
    return call(
        () -> add(node, graph, dependencies, count, new GraphOperation.Mark(graphEvent(event))));
  }

  @Override
  public int cuGraphAddEventWaitNode(
      long node, long graph, long dependencies, long count, long event) {
    return call(
        () -> add(node, graph, dependencies, count, new GraphOperation.Await(graphEvent(event))));
  }

  @Override
  public int cuGraphInstantiateWithFlags(long exec, long graph, long flags) {
    return call(
        () -> Memory.putLong(exec, state().handles().add(graph(graph).graph().instantiate())));
  }

  @Override
  public int cuGraphExecDestroy(long exec) {
    return call(() -> state().handles().remove(exec, SoftGraphExec.class));
  }

  @Override
  public int cuGraphExecKernelNodeSetParams_v2(long exec, long node, long params) {
    return call(() -> {
      boolean cooperative =
          exec(exec).operation(node(node)) instanceof GraphOperation.Kernel kernel
              && kernel.shape().cooperative();
      GraphOperation.Kernel changed = kernel(params);
      set(exec, node, cooperative ? GraphParams.cooperative(changed, true) : changed);
    });
  }

  @Override
  public int cuGraphExecMemcpyNodeSetParams(long exec, long node, long params, long context) {
    return call(() -> set(exec, node, GraphParams.copy(context(), params)));
  }

  @Override
  public int cuGraphExecMemsetNodeSetParams(long exec, long node, long params, long context) {
    return call(() -> set(exec, node, GraphParams.fill(context(), params)));
  }

  @Override
  public int cuGraphExecEventRecordNodeSetEvent(long exec, long node, long event) {
    return call(() -> exec(exec).set(node(node), new GraphOperation.Mark(graphEvent(event))));
  }

  @Override
  public int cuGraphExecEventWaitNodeSetEvent(long exec, long node, long event) {
    return call(() -> exec(exec).set(node(node), new GraphOperation.Await(graphEvent(event))));
  }

  @Override
  public int cuGraphNodeSetEnabled(long exec, long node, int enabled) {
    return call(() -> exec(exec).setEnabled(node(node), enabled != 0));
  }

  @Override
  public int cuGraphUpload(long exec, long stream) {
    return call(() -> {
      exec(exec);
      stream(stream);
    });
  }

  @Override
  public int cuGraphLaunch(long exec, long stream) {
    return call(() -> exec(exec).launch(stream(stream)));
  }

  private GraphOperation.Kernel kernel(long params) {
    return GraphParams.kernel(
        LoadedFunction.find(state().handles(), Memory.getLong(params)), params);
  }

  /** Adds a node whose operation could be done now. */
  private void add(long node, long graph, long dependencies, long count, GraphOperation operation) {
    operation.check();
    Memory.putLong(node, graph(graph).add(operation, after(dependencies, count), List.of()));
  }

  private List<SoftGraph.Node> after(long dependencies, long count) {
    return LongStream.range(0, count)
        .mapToObj(i -> node(Memory.getLong(dependencies + Long.BYTES * i)))
        .toList();
  }

  private void set(long exec, long node, GraphOperation operation) {
    operation.check();
    exec(exec).set(node(node), operation);
  }

  private NumberedGraph graph(long handle) {
    return state().handles().get(handle, NumberedGraph.class);
  }

  private SoftGraphExec exec(long handle) {
    return state().handles().get(handle, SoftGraphExec.class);
  }

  private SoftGraph.Node node(long handle) {
    return numbered(handle).node();
  }

  private NumberedGraph.Node numbered(long handle) {
    return state().handles().get(handle, NumberedGraph.Node.class);
  }

  private SoftEvent graphEvent(long handle) {
    SoftEvent event = state().handles().get(handle, SoftEvent.class);
    SoftContext context = event.context();
    if (context.isDestroyed()) {
      throw new GpuException(CudaStatus.CONTEXT_IS_DESTROYED, "the event's context is destroyed");
    }
    return event;
  }
}
