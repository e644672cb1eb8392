// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.work.Copying;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.soft.image.DeviceImage;
import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.KernelInfo;
import io.gpupool.soft.ptx.Relocation;
import io.gpupool.soft.ptx.VariableKind;
import io.gpupool.soft.ptx.module.PtxModule;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * An image loaded into a context: its variables have addresses and their first values, its
 * functions can be launched. Any thread may call it.
 */
public final class SoftModule {
  private static final int MIN_VARIABLE_ALIGNMENT = 16;

  /** The compute capability, times ten, from which on kernels cannot wait for their launches. */
  private static final int NO_SYNCHRONIZATION_CAPABILITY = 90;

  private final SoftContext context;
  private final DeviceImage image;
  private final Map<String, SoftFunction> functions = new LinkedHashMap<>();
  private final Map<String, Variable> variables = new HashMap<>();
  private final List<Long> allocations = new ArrayList<>(1);
  private long occupiedBytes;
  private boolean unloaded;

  /** Loads an image into a context; see {@link DeviceImage#parse} for what may be wrong. */
  public static SoftModule load(SoftContext context, DeviceImage image) {
    context.requireUsable();
    return new SoftModule(context, image);
  }

  private SoftModule(SoftContext context, DeviceImage image) {
    this.context = context;
    this.image = image;
    requireSynchronization();
    try {
      placeVariables();
      if (usesHeap()) {
        context.heap().require();
      }
      if (usesRuntime()) {
        context.runtimeMemory().require();
      }
    } catch (GpuException e) {
      allocations.forEach(context.device().memory()::free);
      throw e;
    }
    Map<String, Long> addresses = new HashMap<>();
    variables.forEach((name, variable) -> addresses.put(name, variable.address));
    for (KernelInfo kernel : image.kernels()) {
      functions.put(kernel.name(), new SoftFunction(this, kernel, Map.copyOf(addresses)));
    }
  }

  public SoftContext context() {
    return context;
  }

  boolean usesHeap() {
    return image.ptx().map(PtxModule::usesHeap).orElse(false);
  }

  /** Whether its kernels may launch others. */
  boolean usesRuntime() {
    return image.ptx().map(PtxModule::usesRuntime).orElse(false);
  }

  /** The kernel that an address in device code stands for. */
  Optional<SoftFunction> kernelAt(long address) {
    return image.ptx().flatMap(ptx -> ptx.kernelAt(address)).map(functions::get);
  }

  /** Cards of newer compute capabilities have no waiting on the device for launched kernels. */
  private void requireSynchronization() {
    boolean synchronizes = image.ptx().map(PtxModule::synchronizesOnDevice).orElse(false);
    if (synchronizes && context.device().computeCapability() >= NO_SYNCHRONIZATION_CAPABILITY) {
      throw new GpuException(
          CudaStatus.UNSUPPORTED_DEVSIDE_SYNC,
          "a kernel calls cudaDeviceSynchronize, which compute capability 9.0 and later lack;"
              + " build it without, or ask for a GPU of a lower one (soft:1,cc=8.6)");
    }
  }

  public DeviceImage image() {
    return image;
  }

  /** All kernels, in the order of the image. */
  public List<SoftFunction> functions() {
    return List.copyOf(functions.values());
  }

  /**
   * A kernel by its (mangled) name.
   *
   * @throws GpuException NOT_FOUND
   */
  public SoftFunction function(String name) {
    SoftFunction function = functions.get(name);
    if (function == null) {
      throw new GpuException(CudaStatus.NOT_FOUND, "the module has no kernel '" + name + "'");
    }
    return function;
  }

  /**
   * A global or constant variable by its name.
   *
   * @throws GpuException NOT_FOUND
   */
  public Variable variable(String name) {
    Variable variable = variables.get(name);
    if (variable == null) {
      throw new GpuException(CudaStatus.NOT_FOUND, "the module has no variable '" + name + "'");
    }
    return variable;
  }

  /**
   * The address of the symbol of a texture or surface reference.
   *
   * @throws GpuException NOT_FOUND
   */
  public long reference(String name, VariableKind kind) {
    return image.globals().stream()
        .filter(global -> global.kind() == kind && global.name().equals(name))
        .findFirst()
        .map(global -> requireNonNull(variables.get(name)).address)
        .orElseThrow(() ->
            new GpuException(
                CudaStatus.NOT_FOUND, "the module has no " + kind + " reference '" + name + "'"));
  }

  /** Device memory that the variables occupy. */
  public long occupiedBytes() {
    return occupiedBytes;
  }

  /** Ends the module; its variables are freed when the context's work is done. */
  public void unload() {
    synchronized (this) {
      if (unloaded) {
        throw new GpuException(CudaStatus.INVALID_HANDLE, "the module is unloaded");
      }
      unloaded = true;
    }
    image.globals().stream()
        .filter(global -> global.kind() != VariableKind.DATA)
        .forEach(global ->
            context.references().unbind(requireNonNull(variables.get(global.name())).address));
    allocations.forEach(address -> context.freeWhenDone(address, () -> {}));
  }

  private void placeVariables() {
    long size = 0;
    Map<String, Long> offsets = new LinkedHashMap<>();
    for (GlobalVariable global : image.globals()) {
      if (global.external()) {
        throw new GpuException(
            CudaStatus.INVALID_PTX,
            "undefined reference to '" + global.name() + "': modules are not linked to each other");
      }
      if (global.sizeBytes() < 0 || global.sizeBytes() > context.device().totalMemoryBytes()) {
        throw new GpuException(
            CudaStatus.OUT_OF_MEMORY,
            "variable '" + global.name() + "' has " + global.sizeBytes() + " bytes");
      }
      long alignment = Math.max(MIN_VARIABLE_ALIGNMENT, global.alignBytes());
      size = (size + alignment - 1) & -alignment;
      offsets.put(global.name(), size);
      size += global.sizeBytes();
    }
    if (size == 0) {
      return;
    }
    long base = context.device().allocate(size, context.moduleData());
    allocations.add(base);
    occupiedBytes = size;
    MemorySegment data = context.device().memory().view(base, size);
    Copying.fill(DeviceTime.UNSHARED, data, 0, 1);
    for (GlobalVariable global : image.globals()) {
      long offset = requireNonNull(offsets.get(global.name()));
      variables.put(global.name(), new Variable(base + offset, global.sizeBytes()));
      byte[] initial = global.initializer();
      MemorySegment.copy(
          MemorySegment.ofArray(initial),
          0,
          data,
          offset,
          Math.min(initial.length, global.sizeBytes()));
    }
    for (GlobalVariable global : image.globals()) {
      for (Relocation relocation : global.relocations()) {
        relocate(
            data.asSlice(requireNonNull(offsets.get(global.name())), global.sizeBytes()),
            relocation);
      }
    }
  }

  private void relocate(MemorySegment variable, Relocation relocation) {
    Variable target = variables.get(relocation.symbol());
    long address = target != null ? target.address : functionAddress(relocation.symbol());
    if (relocation.offsetBytes() < 0
        || relocation.offsetBytes() > variable.byteSize() - Long.BYTES) {
      throw new GpuException(CudaStatus.INVALID_PTX, "an address lies outside its variable");
    }
    variable.set(
        ValueLayout.JAVA_LONG_UNALIGNED, relocation.offsetBytes(), address + relocation.addend());
  }

  private long functionAddress(String symbol) {
    OptionalLong address =
        image.ptx().map(ptx -> ptx.functionAddress(symbol)).orElse(OptionalLong.empty());
    return address.orElseThrow(() ->
        new GpuException(
            CudaStatus.NOT_SUPPORTED,
            "a variable is initialised with the address of '"
                + symbol
                + "', which is neither a variable nor a function of the module"));
  }

  /** Where a variable lies. */
  public record Variable(long address, long sizeBytes) {}
}
