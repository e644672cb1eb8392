// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

/** Events of NVIDIA's GPUs, some of which were recorded where the session was before. */
abstract class NvidiaEvents extends NvidiaModules {
  private final EventTimes times = new EventTimes(this);

  NvidiaEvents(String libnvml, long contextBytes, GpuGate.Limits limits) {
    super(libnvml, contextBytes, limits);
  }

  EventTimes times() {
    return times;
  }

  /** Asks the driver for the time between two events. */
  final int measure(long out, long start, long end) {
    return super.cuEventElapsedTime(out, start, end);
  }

  @Override
  public int cuEventElapsedTime(long pMilliseconds, long hStart, long hEnd) {
    return times.elapsed(pMilliseconds, hStart, hEnd);
  }

  @Override
  public int cuEventElapsedTime_v2(long pMilliseconds, long hStart, long hEnd) {
    return times.elapsed(pMilliseconds, hStart, hEnd);
  }

  @Override
  public int cuEventRecord(long hEvent, long hStream) {
    times.forget(hEvent);
    return super.cuEventRecord(hEvent, hStream);
  }

  @Override
  public int cuEventRecordWithFlags(long hEvent, long hStream, int flags) {
    times.forget(hEvent);
    return super.cuEventRecordWithFlags(hEvent, hStream, flags);
  }

  @Override
  public int cuEventDestroy_v2(long hEvent) {
    times.destroyed(hEvent);
    return super.cuEventDestroy_v2(hEvent);
  }

  @Override
  public int cuGraphAddEventRecordNode(
      long phGraphNode, long hGraph, long dependencies, long numDependencies, long event) {
    times.recordedByGraph(event);
    return super.cuGraphAddEventRecordNode(
        phGraphNode, hGraph, dependencies, numDependencies, event);
  }

  @Override
  public int cuGraphExecEventRecordNodeSetEvent(long hGraphExec, long hNode, long event) {
    times.recordedByGraph(event);
    return super.cuGraphExecEventRecordNodeSetEvent(hGraphExec, hNode, event);
  }

  @Override
  public int cuGraphLaunch(long hGraphExec, long hStream) {
    times.graphLaunched();
    return super.cuGraphLaunch(hGraphExec, hStream);
  }

  @Override
  public int cuCtxDestroy_v2(long ctx) {
    times.contextEnded(ctx);
    return super.cuCtxDestroy_v2(ctx);
  }

  @Override
  public int cuDevicePrimaryCtxReset_v2(int dev) {
    contexts().primary(dev).ifPresent(times::contextEnded);
    return super.cuDevicePrimaryCtxReset_v2(dev);
  }
}
