// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.cuda.DriverTime;
import io.gpupool.soft.compile.cache.KernelCache;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.device.SoftGpu;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.soft.exec.launch.PrintfSink;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/**
 * The driver calls of one session on software GPUs. The calling thread's current context is its
 * own, as in the driver; any thread may call. Calls that wait, as {@code cuStreamSynchronize} does,
 * block their thread.
 */
public final class SoftBackend
    implements SoftDeviceCalls,
        SoftContextCalls,
        SoftGreenCalls,
        SoftMemoryCalls,
        SoftPoolCalls,
        SoftShareCalls,
        SoftVirtualCalls,
        SoftCopyCalls,
        SoftPeerCalls,
        SoftStreamCalls,
        SoftLaunchCalls,
        SoftArrayCalls,
        SoftTextureCalls,
        SoftTensorMapCalls,
        SoftReferenceCalls,
        SoftGraphCalls,
        SoftLinkCalls,
        AutoCloseable {
  private final SoftState state;
  private volatile PrintSink printSink = (stream, bytes) -> {};
  private final Diagnostics diagnostics =
      new Diagnostics(
          System.err,
          line -> printSink.print(PrintSink.DIAGNOSTICS, line.getBytes(StandardCharsets.UTF_8)));

  /** Makes the devices of {@code spec} for this session. */
  public SoftBackend(DeviceSpec spec, SoftGpu.MissingPtx missingPtx) {
    this(spec, missingPtx, KernelCache.NONE);
  }

  /** As above, with compiled kernels of earlier runs. */
  public SoftBackend(DeviceSpec spec, SoftGpu.MissingPtx missingPtx, KernelCache kernelCache) {
    state = new SoftState(new SoftGpu(spec, missingPtx, new Printer(), kernelCache), diagnostics);
  }

  /** Hands on what kernels print; the order of the streams is that of the OUTPUT frame's tags. */
  private final class Printer implements PrintfSink {
    @Override
    public void print(byte[] text) {
      print(Stream.OUTPUT, text);
    }

    @Override
    public void print(Stream stream, byte[] text) {
      printSink.print(stream.ordinal(), text);
    }
  }

  @Override
  public SoftState state() {
    return state;
  }

  @Override
  public Optional<String> lastFailure() {
    return state.lastFailure();
  }

  @Override
  public boolean printTo(PrintSink sink) {
    printSink = sink;
    return true;
  }

  @Override
  public void nameSession(String name) {
    diagnostics.nameSession(name);
  }

  @Override
  public boolean share(int gpu, DriverTime time) {
    state.gpu().device(gpu).share(time);
    return true;
  }

  @Override
  public void setVisible(List<Integer> gpus) {
    state.gpu().setVisible(gpus);
  }

  @Override
  public boolean moveTo(int slot, List<Integer> gpus) {
    state.gpu().moveMemory(slot, gpus);
    return true;
  }

  @Override
  public boolean hasRoom() {
    return state.gpu().hasRoom();
  }

  @Override
  public long busyNanos() {
    long sum = 0;
    for (SoftDevice device : state.gpu().devices()) {
      sum += device.usage().busyNanos();
    }
    return sum;
  }

  /** Stops what runs and gives all memory back. */
  @Override
  public void close() {
    state.gpu().close();
  }
}
