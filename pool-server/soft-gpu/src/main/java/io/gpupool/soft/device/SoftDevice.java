// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.spec.ComputeLimits;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.soft.device.work.Work;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.soft.memory.AddressPlace;
import io.gpupool.soft.memory.DeviceMemory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

/** One software GPU: what it says of itself, its memory, its pools. */
public final class SoftDevice {
  private final SoftGpu gpu;
  private final int ordinal;
  private final ComputeLimits limits;
  private volatile DeviceMemory memory;
  private final int[] attributes;
  private final UUID uuid;
  private final Usage usage = new Usage();
  private volatile DeviceTime time = DeviceTime.UNSHARED;
  private final SoftPool defaultPool;
  private volatile SoftPool pool;
  private int pendingFrees;

  SoftDevice(SoftGpu gpu, int ordinal, DeviceSpec spec) {
    this.gpu = gpu;
    this.ordinal = ordinal;
    limits = ComputeLimits.of(spec.computeCapability());
    memory = new DeviceMemory(ordinal, spec.memoryBytes());
    attributes = DeviceAttributes.of(limits, gpu.cores(), ordinal);
    uuid =
        UUID.nameUUIDFromBytes(
            ("gpupool soft " + ordinal + " " + hostIdentity()).getBytes(StandardCharsets.UTF_8));
    defaultPool = new SoftPool(this, 0, false);
    pool = defaultPool;
  }

  /** Has its memory, which was closed, in another place of the address space. */
  void moveMemory(AddressPlace place) {
    memory = new DeviceMemory(ordinal, memory.totalBytes(), place);
  }

  public int ordinal() {
    return ordinal;
  }

  /** A name that says what this is, within the 255 bytes that CUDA allows. */
  public String name() {
    return "gpupool software GPU ("
        + System.getProperty("os.arch").replace("amd64", "x86_64")
        + ", "
        + gpu.cores()
        + (gpu.cores() == 1 ? " core)" : " cores)");
  }

  /** The same on every start on this machine. */
  public UUID uuid() {
    return uuid;
  }

  public String pciBusId() {
    return DeviceAttributes.pciBusId(ordinal);
  }

  public long totalMemoryBytes() {
    return memory.totalBytes();
  }

  /** 10 * major + minor. */
  public int computeCapability() {
    return limits.capability();
  }

  /**
   * An attribute.
   *
   * @param attribute a CUdevice_attribute of CUDA 13.0
   * @throws GpuException INVALID_VALUE if there is no such attribute
   */
  public int attribute(int attribute) {
    if (attribute <= 0 || attribute >= DeviceAttributes.COUNT) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "there is no device attribute " + attribute);
    }
    return attributes[attribute];
  }

  public DeviceMemory memory() {
    return memory;
  }

  public Usage usage() {
    return usage;
  }

  public DeviceTime time() {
    return time;
  }

  /** Has whatever is submitted from now on keep to the device's time as others share it. */
  public void share(DeviceTime shared) {
    time = shared;
  }

  /** The pool that the device was born with. */
  public SoftPool defaultPool() {
    return defaultPool;
  }

  /** The pool that asynchronous allocations come from unless they name one. */
  public SoftPool pool() {
    return pool;
  }

  /** Makes another pool the one for asynchronous allocations. */
  public void setPool(SoftPool newPool) {
    if (newPool.device() != this) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "the pool belongs to another device");
    }
    pool = newPool;
  }

  public SoftGpu gpu() {
    return gpu;
  }

  public ComputeLimits limits() {
    return limits;
  }

  /**
   * Allocates something of the program's, where it was planned if it was; waits for frees that are
   * still queued rather than being out of memory.
   */
  public long allocate(long bytes, Object owner) {
    return gpu.placements()
        .make(
            address -> memory.allocateAt(address, bytes, owner),
            () -> allocateAnywhere(bytes, owner));
  }

  /** Allocates for a context's own needs; waits as {@link #allocate} does. */
  public long allocateAnywhere(long bytes, Object owner) {
    while (true) {
      int freesBefore = pendingFrees();
      try {
        return memory.allocate(bytes, owner);
      } catch (GpuException e) {
        boolean hopeless = freesBefore == 0 || gpu.scheduler().hostFunctionRuns();
        if (e.status() != CudaStatus.OUT_OF_MEMORY || bytes > totalMemoryBytes() || hopeless) {
          throw e;
        }
        awaitFree(freesBefore);
      }
    }
  }

  /** Takes an allocation from the program now; its memory becomes free when the work is done. */
  public Work freeing(long address) {
    memory.retire(address);
    synchronized (this) {
      pendingFrees++;
    }
    return new Work(gpu.scheduler()) {
      @Override
      protected boolean start() {
        memory.free(address);
        freeDone();
        return true;
      }
    };
  }

  private synchronized void freeDone() {
    pendingFrees--;
    notifyAll();
  }

  private synchronized int pendingFrees() {
    return pendingFrees;
  }

  private synchronized void awaitFree(int freesBefore) {
    try {
      if (pendingFrees >= freesBefore) {
        // A host function may start meanwhile, and then waiting on would be in vain.
        wait(10);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new GpuException(CudaStatus.OUT_OF_MEMORY, "interrupted while waiting for a free");
    }
  }

  private static String hostIdentity() {
    StringBuilder identity = new StringBuilder();
    for (String file : new String[] {"/etc/machine-id", "/proc/sys/kernel/hostname"}) {
      try {
        identity.append(Files.readString(Path.of(file)).strip()).append(' ');
      } catch (IOException e) {
        // Not every system has both; what remains still tells most machines apart.
        identity.append("- ");
      }
    }
    return identity.toString();
  }
}
