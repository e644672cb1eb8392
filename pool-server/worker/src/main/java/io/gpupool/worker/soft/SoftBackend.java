// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.cuda.ComposedBackend;
import io.gpupool.cuda.DriverTime;
import io.gpupool.cuda.Relocation;
import io.gpupool.soft.compile.cache.KernelCache;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.device.SoftGpu;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.soft.exec.launch.PrintfSink;
import io.gpupool.worker.soft.context.SoftContextCalls;
import io.gpupool.worker.soft.context.SoftDeviceCalls;
import io.gpupool.worker.soft.context.SoftGreenCalls;
import io.gpupool.worker.soft.context.SoftStreamCalls;
import io.gpupool.worker.soft.graph.SoftGraphCalls;
import io.gpupool.worker.soft.memory.SharedHandle;
import io.gpupool.worker.soft.memory.SoftCopyCalls;
import io.gpupool.worker.soft.memory.SoftMemoryCalls;
import io.gpupool.worker.soft.memory.SoftPeerCalls;
import io.gpupool.worker.soft.memory.SoftPoolCalls;
import io.gpupool.worker.soft.memory.SoftShareCalls;
import io.gpupool.worker.soft.memory.SoftVirtualCalls;
import io.gpupool.worker.soft.module.SoftFunctionCalls;
import io.gpupool.worker.soft.module.SoftLaunchCalls;
import io.gpupool.worker.soft.module.SoftLinkCalls;
import io.gpupool.worker.soft.module.SoftModuleCalls;
import io.gpupool.worker.soft.module.SoftReferenceCalls;
import io.gpupool.worker.soft.state.Diagnostics;
import io.gpupool.worker.soft.state.SoftState;
import io.gpupool.worker.soft.texture.SoftArrayCalls;
import io.gpupool.worker.soft.texture.SoftTensorMapCalls;
import io.gpupool.worker.soft.texture.SoftTextureCalls;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/**
 * The driver calls of one session on software GPUs. The calling thread's current context is its
 * own, as in the driver; any thread may call. Calls that wait, as {@code cuStreamSynchronize} does,
 * block their thread.
 */
public final class SoftBackend extends ComposedBackend implements AutoCloseable {
  private final SoftState state;
  private final SoftArrayCalls arrayCalls;
  private final SoftContextCalls contextCalls;
  private final SoftCopyCalls copyCalls;
  private final SoftDeviceCalls deviceCalls;
  private final SoftFunctionCalls functionCalls;
  private final SoftGraphCalls graphCalls;
  private final SoftGreenCalls greenContextCalls;
  private final SoftShareCalls ipcCalls;
  private final SoftLaunchCalls launchCalls;
  private final SoftLinkCalls linkCalls;
  private final SoftMemoryCalls memoryCalls;
  private final SoftPoolCalls memoryPoolCalls;
  private final SoftModuleCalls moduleCalls;
  private final SoftPeerCalls peerCalls;
  private final SoftReferenceCalls referenceCalls;
  private final SoftStreamCalls streamCalls;
  private final SoftTensorMapCalls tensorMapCalls;
  private final SoftTextureCalls textureCalls;
  private final SoftVirtualCalls virtualMemoryCalls;
  private final SoftRelocation relocation;
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
    arrayCalls = new SoftArrayCalls(state);
    contextCalls = new SoftContextCalls(state);
    copyCalls = new SoftCopyCalls(state);
    deviceCalls = new SoftDeviceCalls(state);
    functionCalls = new SoftFunctionCalls(state);
    graphCalls = new SoftGraphCalls(state);
    greenContextCalls = new SoftGreenCalls(state);
    ipcCalls = new SoftShareCalls(state);
    launchCalls = new SoftLaunchCalls(state);
    linkCalls = new SoftLinkCalls(state);
    memoryCalls = new SoftMemoryCalls(state);
    memoryPoolCalls = new SoftPoolCalls(state);
    moduleCalls = new SoftModuleCalls(state);
    peerCalls = new SoftPeerCalls(state);
    referenceCalls = new SoftReferenceCalls(state);
    streamCalls = new SoftStreamCalls(state);
    tensorMapCalls = new SoftTensorMapCalls(state);
    textureCalls = new SoftTextureCalls(state);
    virtualMemoryCalls = new SoftVirtualCalls(state);
    relocation = new SoftRelocation(state);
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
  protected SoftArrayCalls arrayCalls() {
    return arrayCalls;
  }

  @Override
  protected SoftContextCalls contextCalls() {
    return contextCalls;
  }

  @Override
  protected SoftCopyCalls copyCalls() {
    return copyCalls;
  }

  @Override
  protected SoftDeviceCalls deviceCalls() {
    return deviceCalls;
  }

  @Override
  protected SoftFunctionCalls functionCalls() {
    return functionCalls;
  }

  @Override
  protected SoftGraphCalls graphCalls() {
    return graphCalls;
  }

  @Override
  protected SoftGreenCalls greenContextCalls() {
    return greenContextCalls;
  }

  @Override
  protected SoftShareCalls ipcCalls() {
    return ipcCalls;
  }

  @Override
  protected SoftLaunchCalls launchCalls() {
    return launchCalls;
  }

  @Override
  protected SoftLinkCalls linkCalls() {
    return linkCalls;
  }

  @Override
  protected SoftMemoryCalls memoryCalls() {
    return memoryCalls;
  }

  @Override
  protected SoftPoolCalls memoryPoolCalls() {
    return memoryPoolCalls;
  }

  @Override
  protected SoftModuleCalls moduleCalls() {
    return moduleCalls;
  }

  @Override
  protected SoftPeerCalls peerCalls() {
    return peerCalls;
  }

  @Override
  protected SoftReferenceCalls referenceCalls() {
    return referenceCalls;
  }

  @Override
  protected SoftStreamCalls streamCalls() {
    return streamCalls;
  }

  @Override
  protected SoftTensorMapCalls tensorMapCalls() {
    return tensorMapCalls;
  }

  @Override
  protected SoftTextureCalls textureCalls() {
    return textureCalls;
  }

  @Override
  protected SoftVirtualCalls virtualMemoryCalls() {
    return virtualMemoryCalls;
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
  public void compute(int device, Runnable work) {
    state.gpu().device(device).time().run(work);
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
  public Optional<Relocation> relocation() {
    return Optional.of(relocation);
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

  @Override
  public boolean allocatesAt() {
    return true;
  }

  @Override
  public AddressRange freeRange(long wantedBytes) {
    return memoryCalls.freeRange(wantedBytes);
  }

  @Override
  public int allocateAt(long address, long lengthBytes) {
    return memoryCalls.allocateAt(address, lengthBytes);
  }

  @Override
  public long heapBytes() {
    return state.currentContext().heap().occupiedBytes();
  }

  @Override
  public void afterWork(Runnable action) {
    state.afterWork(action);
  }

  @Override
  public boolean afterStream(long stream, Runnable action) {
    streamCalls.afterStream(stream, action);
    return true;
  }

  @Override
  public int launchHostTask(long stream, boolean evenAfterFault, HostTask task) {
    return streamCalls.launchHostTask(stream, evenAfterFault, task);
  }

  @Override
  public boolean poolsKeepMemory() {
    return false;
  }

  @Override
  public boolean checksAddresses() {
    return true;
  }

  @Override
  public boolean isReadable(long address, long lengthBytes) {
    return memoryCalls.isReadable(address, lengthBytes);
  }

  @Override
  public boolean memoryIsInProcess() {
    return true;
  }

  @Override
  public long sourceReadAtOnceBytes() {
    return Long.MAX_VALUE;
  }

  /** Images are read within their lengths. */
  @Override
  public boolean isSoundImage(long image, long imageBytes) {
    return true;
  }

  @Override
  public int loadModule(
      long module, long image, long imageBytes, int numOptions, long options, long optionValues) {
    return moduleCalls.loadModule(module, image, imageBytes, numOptions, options, optionValues);
  }

  @Override
  public boolean listsFunctions() {
    return true;
  }

  @Override
  public long moduleBytes(long module) {
    return moduleCalls.moduleBytes(module);
  }

  @Override
  public int descriptorOf(long handle) {
    return SharedHandle.descriptor(handle);
  }

  @Override
  public void setDescriptor(long handle, int descriptor) {
    SharedHandle.setDescriptor(handle, descriptor);
  }

  /** Stops what runs and gives all memory back. */
  @Override
  public void close() {
    state.gpu().close();
  }
}
