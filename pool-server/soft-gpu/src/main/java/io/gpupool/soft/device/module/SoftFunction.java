// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.device.SoftGpu;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.spec.ComputeLimits;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.soft.device.work.Work;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.launch.ClusterShape;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.memory.DeviceHeap;
import io.gpupool.soft.nested.Child;
import io.gpupool.soft.ptx.ClusterDemand;
import io.gpupool.soft.ptx.KernelInfo;
import io.gpupool.soft.ptx.ParamInfo;
import io.gpupool.soft.ptx.module.PtxModule;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.jspecify.annotations.Nullable;

/**
 * A kernel of a loaded module. It is compiled when it is first launched. Any thread may call it.
 */
public final class SoftFunction {
  private static final int ATTRIBUTE_MAX_THREADS = 0;
  private static final int ATTRIBUTE_SHARED_BYTES = 1;
  private static final int ATTRIBUTE_CONST_BYTES = 2;
  private static final int ATTRIBUTE_LOCAL_BYTES = 3;
  private static final int ATTRIBUTE_REGISTERS = 4;
  private static final int ATTRIBUTE_PTX_VERSION = 5;
  private static final int ATTRIBUTE_BINARY_VERSION = 6;
  private static final int ATTRIBUTE_CACHE_MODE = 7;
  private static final int ATTRIBUTE_MAX_DYNAMIC_SHARED_BYTES = 8;
  private static final int ATTRIBUTE_CARVEOUT = 9;
  private static final int CLUSTER_MUST_BE_SET = 10;
  private static final int CLUSTER_WIDTH = 11;
  private static final int CLUSTER_HEIGHT = 12;
  private static final int CLUSTER_DEPTH = 13;
  private static final int NON_PORTABLE_CLUSTERS = 14;
  private static final int ATTRIBUTE_LAST = 15; // how clusters are scheduled

  private final SoftModule module;
  private final KernelInfo info;
  private final Map<String, Long> variableAddresses;
  private @Nullable CompiledKernel compiled;
  private volatile boolean launchableCompiled;
  private volatile int maxDynamicSharedBytes;
  private volatile int carveoutPercent = -1;
  private final AtomicIntegerArray clusterAttributes =
      new AtomicIntegerArray(ATTRIBUTE_LAST - CLUSTER_WIDTH + 1);

  SoftFunction(SoftModule module, KernelInfo info, Map<String, Long> variableAddresses) {
    this.module = module;
    this.info = info;
    this.variableAddresses = variableAddresses;
    maxDynamicSharedBytes =
        Math.max(0, ComputeLimits.SHARED_BYTES_PER_BLOCK - info.resources().staticSharedBytes());
    ClusterDemand demand = info.cluster();
    clusterAttributes.set(0, demand.x());
    clusterAttributes.set(CLUSTER_HEIGHT - CLUSTER_WIDTH, demand.y());
    clusterAttributes.set(CLUSTER_DEPTH - CLUSTER_WIDTH, demand.z());
  }

  public SoftModule module() {
    return module;
  }

  public SoftContext context() {
    return module.context();
  }

  /** What can be asked about it without compiling it, its parameters' layout above all. */
  public KernelInfo info() {
    return info;
  }

  /**
   * Reads a CUfunction_attribute.
   *
   * @throws GpuException INVALID_VALUE if there is no such attribute
   */
  public int attribute(int attribute) {
    return switch (attribute) {
      case ATTRIBUTE_MAX_THREADS -> info.maxThreadsPerBlock();
      case ATTRIBUTE_SHARED_BYTES -> info.resources().staticSharedBytes();
      case ATTRIBUTE_CONST_BYTES, ATTRIBUTE_CACHE_MODE -> 0;
      case ATTRIBUTE_LOCAL_BYTES -> info.resources().localBytes();
      case ATTRIBUTE_REGISTERS -> info.resources().registers();
      case ATTRIBUTE_PTX_VERSION -> info.target();
      case ATTRIBUTE_BINARY_VERSION -> context().device().computeCapability();
      case ATTRIBUTE_MAX_DYNAMIC_SHARED_BYTES -> maxDynamicSharedBytes;
      case ATTRIBUTE_CARVEOUT -> carveoutPercent;
      case CLUSTER_MUST_BE_SET -> info.cluster().explicit() && !info.cluster().isFixed() ? 1 : 0;
      case CLUSTER_WIDTH, CLUSTER_HEIGHT, CLUSTER_DEPTH, NON_PORTABLE_CLUSTERS, ATTRIBUTE_LAST ->
          clusterAttributes.get(attribute - CLUSTER_WIDTH);
      default -> throw noSuchAttribute(attribute);
    };
  }

  /** Sets a CUfunction_attribute that can be set. */
  public void setAttribute(int attribute, int value) {
    switch (attribute) {
      case ATTRIBUTE_MAX_DYNAMIC_SHARED_BYTES -> {
        int most =
            context().device().limits().sharedBytesPerBlockOptIn()
                - info.resources().staticSharedBytes();
        if (value < 0 || value > most) {
          throw new GpuException(
              CudaStatus.INVALID_VALUE,
              value + " bytes of dynamic shared memory; at most " + most + " fit");
        }
        maxDynamicSharedBytes = value;
      }
      case ATTRIBUTE_CARVEOUT -> {
        if (value < -1 || value > 100) {
          throw new GpuException(CudaStatus.INVALID_VALUE, "a carveout of " + value + " percent");
        }
        carveoutPercent = value;
      }
      case CLUSTER_WIDTH, CLUSTER_HEIGHT, CLUSTER_DEPTH -> {
        if (info.cluster().isFixed()) {
          throw new GpuException(
              CudaStatus.NOT_PERMITTED, "the kernel was compiled for a size of clusters");
        }
        if (value < 0 || value > Clusters.MAX_BLOCKS) {
          throw new GpuException(
              CudaStatus.INVALID_VALUE,
              value + " blocks of a cluster along an axis, of " + Clusters.MAX_BLOCKS + " at most");
        }
        clusterAttributes.set(attribute - CLUSTER_WIDTH, value);
      }
      case NON_PORTABLE_CLUSTERS, ATTRIBUTE_LAST ->
          clusterAttributes.set(attribute - CLUSTER_WIDTH, value);
      default -> throw noSuchAttribute(attribute);
    }
  }

  /** The clusters that it must be launched in; not explicit if that is for the launch to say. */
  ClusterShape requiredCluster() {
    int x = clusterAttributes.get(0);
    int y = clusterAttributes.get(CLUSTER_HEIGHT - CLUSTER_WIDTH);
    int z = clusterAttributes.get(CLUSTER_DEPTH - CLUSTER_WIDTH);
    return x == 0 && y == 0 && z == 0
        ? ClusterShape.SINGLE
        : new ClusterShape(Math.max(x, 1), Math.max(y, 1), Math.max(z, 1), true);
  }

  boolean allowsNonPortableClusters() {
    return clusterAttributes.get(NON_PORTABLE_CLUSTERS - CLUSTER_WIDTH) != 0;
  }

  /** Whether its launches are counted and passed over, since its image has no PTX. */
  public boolean isSkipped() {
    return module.image().ptx().isEmpty()
        && context().device().gpu().missingPtx() == SoftGpu.MissingPtx.SKIP;
  }

  /** Compiles the kernel if that has not been done. */
  public void load() {
    Optional<PtxModule> ptx = module.image().ptx();
    if (ptx.isPresent()) {
      compiled();
      compileLaunchable(ptx.get());
    }
  }

  /**
   * Launches the kernel.
   *
   * @param params the parameter block, laid out as {@link #info} says; copied
   * @throws GpuException INVALID_VALUE, LAUNCH_OUT_OF_RESOURCES, COOPERATIVE_LAUNCH_TOO_LARGE,
   *     NO_BINARY_FOR_GPU, or NOT_SUPPORTED naming what of the kernel is not
   */
  public Completion launch(SoftStream stream, LaunchShape shape, MemorySegment params) {
    stream.context().requireUsable();
    if (context() != stream.context()) {
      throw new GpuException(
          CudaStatus.INVALID_HANDLE, "the function belongs to another context than the stream");
    }
    return work(shape, params).map(stream::submit).orElseGet(stream::completion);
  }

  /** A checked launch; empty if there is no code and that is to be passed over. */
  public Optional<Work> work(LaunchShape shape, MemorySegment params) {
    Launch launch = LaunchCheck.check(this, shape);
    byte[] block = copyParams(params);
    if (module.image().ptx().isEmpty()) {
      if (isSkipped()) {
        context().device().usage().launchSkipped();
        return Optional.empty();
      }
      throw new GpuException(
          CudaStatus.NO_BINARY_FOR_GPU,
          "kernel " + info.name() + " cannot run: " + module.image().unusable());
    }
    CompiledKernel kernel = compiled();
    DeviceHeap heap = module.usesHeap() ? context().heap().use() : DeviceHeap.NONE;
    PtxModule ptx = module.image().ptx().orElseThrow();
    GridStarter starter = new GridStarter(context(), ptx, heap);
    if (module.usesRuntime()) {
      compileLaunchable(ptx);
      return Optional.of(new NestingWork(module, starter, kernel, launch, block));
    }
    return Optional.of(new KernelWork(context(), starter, kernel, launch, block));
  }

  /** A checked launch from a kernel. */
  Child child(LaunchShape shape) {
    Launch launch = LaunchCheck.check(this, shape);
    return new Child(compiled(), launch, info.paramBytes());
  }

  /** Has what a launched kernel cannot do refused before the one that launches it begins. */
  private void compileLaunchable(PtxModule ptx) {
    if (!launchableCompiled) {
      ptx.launchableFrom(info.name()).forEach(name -> module.function(name).compiled());
      launchableCompiled = true;
    }
  }

  private byte[] copyParams(MemorySegment params) {
    int needed = 0;
    List<ParamInfo> layout = info.params();
    if (!layout.isEmpty()) {
      needed = layout.getLast().offsetBytes() + layout.getLast().sizeBytes();
    }
    // A packed block may end early, as NCCL's do, whose kernels have room for more than they are
    // given.
    if (params.byteSize() == 0 && needed != 0) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          "kernel " + info.name() + " takes " + needed + " bytes of parameters, not 0");
    }
    byte[] block = new byte[Math.max(needed, info.paramBytes())];
    MemorySegment.copy(
        params, 0, MemorySegment.ofArray(block), 0, Math.min(params.byteSize(), block.length));
    return block;
  }

  private synchronized CompiledKernel compiled() {
    if (compiled == null) {
      PtxModule ptx = module.image().ptx().orElseThrow();
      try {
        compiled =
            context().device().gpu().kernelCache().compile(ptx, info.name(), variableAddresses);
      } catch (CompileException e) {
        throw new GpuException(CudaStatus.NOT_SUPPORTED, e.getMessage());
      }
    }
    return compiled;
  }

  private static GpuException noSuchAttribute(int attribute) {
    return new GpuException(
        CudaStatus.INVALID_VALUE, "function attribute " + attribute + " cannot be used so");
  }
}
