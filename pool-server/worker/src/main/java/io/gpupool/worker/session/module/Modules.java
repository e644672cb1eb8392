// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.ModuleOps;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.core.Payload;
import io.gpupool.worker.session.journal.JournalEntry;
import io.gpupool.worker.session.journal.RestoreException;
import io.gpupool.worker.session.quota.FirstLaunches;
import io.gpupool.worker.session.quota.MemoryQuota;
import io.gpupool.worker.session.quota.OwnedMemory;
import io.gpupool.worker.session.stream.BlockingCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Modules and their functions. Used by the session's thread alone. */
public final class Modules implements ModuleOps {
  private static final int MAX_NAME_BYTES = 64 << 10;

  /** Where the fields of a fenced call begin: behind header and tag. */
  private static final int FIRST_SLOT = 16;

  /** More than CUfunction_attribute has. */
  private static final int MAX_ATTRIBUTES = 64;

  private static final long MAX_TABLE_BYTES = 512 << 10;
  private static final int ATTRIBUTE_MAJOR = 75;
  private static final int ATTRIBUTE_MINOR = 76;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final OwnedMemory owned;
  private final MemoryQuota quota;
  private final FirstLaunches firstLaunches;
  private final BlockingCalls blocking;
  private final Images images;
  private final List<LoadedModule> loaded = new ArrayList<>();

  /** Whom a module's functions go down with. */
  private static final class LoadedModule {
    final ContextState context;
    final int number;

    final ModuleFunctions functions;

    final ModuleMemory memory;

    final ModuleImage image;

    LoadedModule(
        ContextState context,
        int number,
        ModuleFunctions functions,
        ModuleMemory memory,
        ModuleImage image) {
      this.context = context;
      this.number = number;
      this.functions = functions;
      this.memory = memory;
      this.image = image;
    }
  }

  public Modules(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      OwnedMemory owned,
      MemoryQuota quota,
      FirstLaunches firstLaunches,
      BlockingCalls blocking,
      Images images) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.owned = owned;
    this.quota = quota;
    this.firstLaunches = firstLaunches;
    this.blocking = blocking;
    this.images = images;
  }

  @Override
  public void moduleLoad(
      int tag,
      int module,
      int imageNumber,
      WireStruct options,
      long infoLogCapacity,
      long errorLogCapacity,
      long functionsCapacity) {
    int refused =
        call.context().exists() ? handles.modules().check(module) : CudaResult.INVALID_CONTEXT;
    Images.Image image = images.complete(imageNumber);
    if (refused == 0 && image == null) {
      refused = CudaResult.INVALID_IMAGE;
    }
    if (refused != 0 || image == null) {
      call.reply(tag, refused);
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      JitOptions jit = new JitOptions(arena, options);
      LogBuffer info = new LogBuffer(arena, infoLogCapacity);
      LogBuffer error = new LogBuffer(arena, errorLogCapacity);
      info.addTo(jit, true);
      error.addTo(jit, false);
      long out = call.out();
      int result =
          blocking.call(() ->
              backend.loadModule(
                  out, image.address, image.lengthBytes, jit.count, jit.keys, jit.values));
      long handle = Memory.getLong(out);
      byte[] functions = new byte[0];
      if (result == 0) {
        ImageKernels kernels =
            backend.listsFunctions() ? null : readKernels(image.address, image.lengthBytes);
        call.expectPrinting();
        ModuleFunctions told = ModuleFunctions.of(backend, out, handle, kernels);
        result = register(module, handle, told, image);
        if (result == 0 && functionsCapacity > 0) {
          functions = PackedList.of(told.all(Math.min(functionsCapacity, MAX_TABLE_BYTES)));
        }
      }
      Payload payload =
          new Payload(arena, info.text().length + error.text().length + functions.length + 64);
      payload.variable(infoLogCapacity > 0, info.text());
      payload.variable(errorLogCapacity > 0, error.text());
      payload.variable(functionsCapacity > 0, functions);
      call.replyWithLog(tag, result, payload);
    }
  }

  @Override
  public int moduleUnload(int module) {
    long handle = handles.modules().get(module);
    if (handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    LoadedModule owner = (LoadedModule) handles.modules().ownerOf(module);
    owner.memory.disown();
    int result = blocking.call(() -> backend.cuModuleUnload(handle));
    forget(owner);
    loaded.remove(owner);
    return result;
  }

  /** The modules of a context went with it. */
  public void forget(ContextState context) {
    quota.countHeap(context, 0);
    for (LoadedModule module : List.copyOf(loaded)) {
      if (module.context == context) {
        forget(module);
        loaded.remove(module);
      }
    }
  }

  @Override
  public int moduleBindFunction(int module, int function, long name, long nameBytes) {
    int refused = handles.functions().check(function);
    long moduleHandle = handles.modules().get(module);
    if (moduleHandle == SessionServices.NO_HANDLE) {
      refused = CudaResult.INVALID_HANDLE;
    }
    if (refused == 0 && (nameBytes == 0 || nameBytes > MAX_NAME_BYTES)) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused != 0) {
      return refused;
    }
    try (Arena arena = Arena.ofConfined()) {
      long out = call.out();
      int result = backend.cuModuleGetFunction(out, moduleHandle, cString(arena, name, nameBytes));
      if (result == 0) {
        handles.functions().put(function, Memory.getLong(out), handles.modules().ownerOf(module));
      }
      return result;
    }
  }

  @Override
  public void moduleGetFunction(
      int tag, int module, int function, long name, long nameBytes, long parametersCapacity) {
    int result = moduleBindFunction(module, function, name, nameBytes);
    if (result != 0) {
      call.reply(tag, result);
      return;
    }
    byte[] parameters = new byte[0];
    if (parametersCapacity > 0) {
      LoadedModule owner = (LoadedModule) handles.modules().ownerOf(module);
      Optional<byte[]> told =
          owner.functions.parameters(text(name, nameBytes), handles.functions().get(function));
      if (told.isEmpty()) {
        // To guess would be to launch with wrong parameters.
        handles.functions().remove(function);
        call.reply(tag, CudaResult.NOT_SUPPORTED);
        return;
      }
      parameters = told.get();
    }
    try (Arena arena = Arena.ofConfined()) {
      Payload payload = new Payload(arena, parameters.length + 16);
      payload.variable(parametersCapacity > 0, parameters);
      call.reply(tag, 0, payload.address(), payload.lengthBytes());
    }
  }

  @Override
  public void moduleListFunctions(int tag, int module, int first, long functionsCapacity) {
    if (handles.modules().get(module) == SessionServices.NO_HANDLE || first < 0) {
      call.reply(tag, first < 0 ? CudaResult.INVALID_VALUE : CudaResult.INVALID_HANDLE);
      return;
    }
    LoadedModule owner = (LoadedModule) handles.modules().ownerOf(module);
    byte[] functions = owner.functions.from(first, Math.min(functionsCapacity, MAX_TABLE_BYTES));
    try (Arena arena = Arena.ofConfined()) {
      Payload payload = new Payload(arena, functions.length + 16);
      payload.variable(functionsCapacity >= functions.length, functions);
      call.reply(tag, 0, payload.address(), payload.lengthBytes());
    }
  }

  @Override
  public void moduleGetGlobal(
      int tag, int module, long name, long nameBytes, boolean addressWanted, boolean bytesWanted) {
    long moduleHandle = handles.modules().get(module);
    if (moduleHandle == SessionServices.NO_HANDLE) {
      call.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    if (nameBytes == 0 || nameBytes > MAX_NAME_BYTES) {
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      long out = call.out();
      int result =
          backend.cuModuleGetGlobal_v2(out, out + 8, moduleHandle, cString(arena, name, nameBytes));
      if (result == 0) {
        LoadedModule owner = (LoadedModule) handles.modules().ownerOf(module);
        result = owner.memory.addVariable(Memory.getLong(out), Memory.getLong(out + 8));
      }
      if (!addressWanted) {
        Memory.putLong(out, Memory.getLong(out + 8));
      }
      call.reply(tag, result, out, (addressWanted ? 8 : 0) + (bytesWanted ? 8 : 0));
    }
  }

  @Override
  public void functionGetAttributes(int tag, int function, long valuesCapacity) {
    long handle = handles.functions().get(function);
    if (handle == SessionServices.NO_HANDLE) {
      call.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    byte[] values = new byte[Math.clamp(valuesCapacity / 8, 0, MAX_ATTRIBUTES) * 8];
    MemorySegment told = MemorySegment.ofArray(values);
    long out = call.out();
    for (int attribute = 0; attribute * 8 < values.length; attribute++) {
      int result = backend.cuFuncGetAttribute(out, attribute, handle);
      told.set(ValueLayout.JAVA_INT_UNALIGNED, attribute * 8L, result);
      told.set(
          ValueLayout.JAVA_INT_UNALIGNED, attribute * 8L + 4, result == 0 ? Memory.getInt(out) : 0);
    }
    try (Arena arena = Arena.ofConfined()) {
      Payload payload = new Payload(arena, values.length + 16);
      payload.variable(valuesCapacity > 0, values);
      call.reply(tag, 0, payload.address(), payload.lengthBytes());
    }
  }

  @Override
  public int functionSetAttribute(int function, int attribute, int value) {
    long handle = handles.functions().get(function);
    return handle == SessionServices.NO_HANDLE
        ? CudaResult.INVALID_HANDLE
        : backend.cuFuncSetAttribute(handle, attribute, value);
  }

  @Override
  public int functionSetCacheConfig(int function, int config) {
    long handle = handles.functions().get(function);
    return handle == SessionServices.NO_HANDLE
        ? CudaResult.INVALID_HANDLE
        : backend.cuFuncSetCacheConfig(handle, config);
  }

  /**
   * Returns the image that a module was loaded from, which is the caller's to let go.
   *
   * @param loading the call that loaded it
   * @throws RestoreException if it cannot be had any more
   */
  public Images.Image takeImage(JournalEntry loading) throws RestoreException {
    int module = ByteBuffer.wrap(loading.frame()).order(ByteOrder.LITTLE_ENDIAN).getInt(FIRST_SLOT);
    LoadedModule owner = (LoadedModule) handles.modules().ownerOf(module);
    Images.Image image = images.take(owner.image);
    if (image == null) {
      throw new RestoreException(
          "the code of a module is not in the server's cache any more, or there is no memory");
    }
    return image;
  }

  /** Counts what a module's variables and its kernels' heap occupy, and gives it its number. */
  private int register(int module, long handle, ModuleFunctions functions, Images.Image image) {
    ModuleMemory memory = ModuleMemory.of(backend, quota, owned, call.context(), handle);
    if (memory == null) {
      backend.cuModuleUnload(handle);
      boolean ignored = quota.measure(call.context().gpu);
      return CudaResult.OUT_OF_MEMORY;
    }
    LoadedModule owner =
        new LoadedModule(call.context(), module, functions, memory, images.hold(image));
    handles.modules().put(module, handle, owner);
    loaded.add(owner);
    return CudaResult.SUCCESS;
  }

  private ImageKernels readKernels(long address, long lengthBytes) {
    long out = call.out();
    int device = call.context().device;
    int capability = 0;
    if (backend.cuDeviceGetAttribute(out, ATTRIBUTE_MAJOR, device) == 0) {
      capability = 10 * Memory.getInt(out);
    }
    if (backend.cuDeviceGetAttribute(out, ATTRIBUTE_MINOR, device) == 0) {
      capability += Memory.getInt(out);
    }
    return ImageKernels.read(address, lengthBytes, capability);
  }

  private void forget(LoadedModule module) {
    module.memory.release();
    images.release(module.image);
    handles.functions().removeOwnedBy(module);
    firstLaunches.forget();
    handles.modules().remove(module.number);
  }

  private static String text(long address, long lengthBytes) {
    return Memory.text(address, (int) lengthBytes);
  }

  private static long cString(Arena arena, long text, long lengthBytes) {
    MemorySegment string = arena.allocate(lengthBytes + 1);
    Memory.copy(text, string.address(), lengthBytes);
    return string.address();
  }
}
