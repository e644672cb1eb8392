// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.compile.cache.KernelCache;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.soft.device.work.Scheduler;
import io.gpupool.soft.device.work.ValueWaits;
import io.gpupool.soft.exec.GridRunner;
import io.gpupool.soft.exec.launch.PrintfSink;
import io.gpupool.soft.memory.AddressPlace;
import io.gpupool.soft.memory.VirtualSpace;
import io.gpupool.soft.texture.TextureTable;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The software GPUs of this process, as a driver has them: the devices, the threads that run their
 * work, and what they have in common. Any thread may call it.
 */
public final class SoftGpu implements AutoCloseable {
  /** The version that {@code cuDriverGetVersion} gives. */
  public static final int DRIVER_VERSION = 13000;

  private static final long CLOSE_TIMEOUT_SECONDS = 10;

  private final Scheduler scheduler = new Scheduler();
  private final TextureTable textures = new TextureTable();
  private final ValueWaits valueWaits = new ValueWaits(scheduler);
  private final GridRunner runner;
  private final int cores;
  private final MissingPtx missingPtx;
  private final PrintfSink printf;
  private final KernelCache kernelCache;
  private final TransferKernels transferKernels = new TransferKernels(this);
  private final Placements placements = new Placements();
  private final List<SoftDevice> devices;
  private volatile List<SoftDevice> visible;

  /** What a launch does whose image holds no code that can run here. */
  public enum MissingPtx {
    /** It fails with NO_BINARY_FOR_GPU. */
    FAIL,
    /** It is counted and does nothing. */
    SKIP
  }

  /**
   * Makes the devices; their memory is only reserved.
   *
   * @param printf takes what kernels print
   */
  public SoftGpu(DeviceSpec spec, MissingPtx missingPtx, PrintfSink printf) {
    this(spec, missingPtx, printf, KernelCache.NONE);
  }

  /** As above, with compiled kernels of earlier runs. */
  public SoftGpu(
      DeviceSpec spec, MissingPtx missingPtx, PrintfSink printf, KernelCache kernelCache) {
    this.kernelCache = kernelCache;
    this.missingPtx = missingPtx;
    this.printf = printf;
    cores = Runtime.getRuntime().availableProcessors();
    runner = new GridRunner(cores);
    devices =
        IntStream.range(0, spec.devices())
            .mapToObj(ordinal -> new SoftDevice(this, ordinal, spec))
            .toList();
    visible = devices;
    devices.forEach(this::watchReach);
  }

  private void watchReach(SoftDevice device) {
    device.memory().map().reach((address, bytes) -> reaches(device, address, bytes));
  }

  /**
   * Moves the memory of some devices, of which nothing is in use yet, to a slot of the address
   * space that no other process of the same program uses.
   *
   * @param slot from 1 to 15, or 0 for where devices have their memory, in the order of the list
   * @throws GpuException INVALID_DEVICE, or OUT_OF_MEMORY if the addresses are taken
   */
  public void moveMemory(int slot, List<Integer> ordinals) {
    List<SoftDevice> order = new ArrayList<>(ordinals.stream().map(this::device).toList());
    if (slot > 0) {
      moveMemory(order, place -> AddressPlace.inSlot(slot, place, ordinals.size()));
      return;
    }
    // The others have the places behind.
    devices.stream().filter(device -> !order.contains(device)).forEach(order::add);
    if (!order.equals(devices)) {
      moveMemory(order, AddressPlace::numbered);
    }
  }

  private void moveMemory(List<SoftDevice> order, IntFunction<AddressPlace> places) {
    order.forEach(device -> device.memory().close());
    for (int place = 0; place < order.size(); place++) {
      order.get(place).moveMemory(places.apply(place));
      watchReach(order.get(place));
    }
  }

  public List<SoftDevice> devices() {
    return devices;
  }

  /**
   * A device by its number.
   *
   * @throws GpuException INVALID_DEVICE
   */
  public SoftDevice device(int ordinal) {
    if (ordinal < 0 || ordinal >= devices.size()) {
      throw new GpuException(
          CudaStatus.INVALID_DEVICE, "device " + ordinal + " of " + devices.size());
    }
    return devices.get(ordinal);
  }

  /**
   * Sets the devices that kernels count and number, as CUDA_VISIBLE_DEVICES does for a process; all
   * of them until then.
   *
   * @param ordinals in the order in which the program numbers its devices
   * @throws GpuException INVALID_DEVICE
   */
  public void setVisible(List<Integer> ordinals) {
    visible = ordinals.stream().map(this::device).toList();
  }

  /** The devices that kernels see, in the order in which the program numbers them. */
  public List<SoftDevice> visible() {
    return visible;
  }

  /** Stops what runs and gives all memory back. Nothing of it may be used afterwards. */
  @Override
  public void close() {
    runner.close();
    valueWaits.close();
    if (scheduler.close(CLOSE_TIMEOUT_SECONDS)) {
      // A copy still under way would end the process if its memory went; so it stays then.
      devices.forEach(device -> device.memory().close());
    }
  }

  /** False if as much is queued as may be, and cannot be waited for, as a host function runs. */
  public boolean hasRoom() {
    return scheduler.hasRoom();
  }

  public Scheduler scheduler() {
    return scheduler;
  }

  /** The textures and surfaces of all devices. */
  public TextureTable textures() {
    return textures;
  }

  /** The numbers that the devices choose for what a program makes. */
  public Placements placements() {
    return placements;
  }

  public ValueWaits valueWaits() {
    return valueWaits;
  }

  public GridRunner runner() {
    return runner;
  }

  public int cores() {
    return cores;
  }

  public MissingPtx missingPtx() {
    return missingPtx;
  }

  public TransferKernels transferKernels() {
    return transferKernels;
  }

  public KernelCache kernelCache() {
    return kernelCache;
  }

  public PrintfSink printf() {
    return printf;
  }

  /**
   * Whether a device's kernels may touch memory of another one. Managed memory is everybody's, so
   * that peer access need not be enabled; where the program maps blocks, what it said counts.
   */
  private boolean reaches(SoftDevice device, long address, int bytes) {
    SoftDevice home = deviceOf(address);
    if (home == null || home == device) {
      return false;
    }
    VirtualSpace space = home.memory().virtual();
    return space.covers(address)
        ? space.allows(address, bytes, device.ordinal())
        : home.memory().map().isLive(address, bytes);
  }

  /**
   * The device whose memory an address belongs to.
   *
   * @throws GpuException INVALID_VALUE if it is the address of no device's memory
   */
  public SoftDevice requireDeviceOf(long address) {
    SoftDevice device = deviceOf(address);
    if (device == null) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "0x" + Long.toHexString(address) + " is not device memory");
    }
    return device;
  }

  /** The device whose memory an address belongs to, or null. */
  public @Nullable SoftDevice deviceOf(long address) {
    for (SoftDevice device : devices) {
      if (device.memory().covers(address)) {
        return device;
      }
    }
    return null;
  }
}
