// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.compile.KernelCompiler;
import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.exec.GridExecution;
import io.gpupool.soft.exec.GridRunner;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.launch.GridServices;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.memory.MemoryMap;
import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.KernelInfo;
import io.gpupool.soft.ptx.ParamInfo;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Relocation;
import io.gpupool.soft.ptx.module.PtxModule;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The least device on which kernels can run: memory, one module, and a grid runner. */
public final class TestGpu implements AutoCloseable {
  private static final int GRANULE = MemoryMap.GRANULE_BYTES;

  /** Memory of the process on either side of the device's. */
  private static final int GUARD_BYTES = 1 << 16;

  /** What all bytes of the guards are. */
  public static final byte GUARD = (byte) 0xA5;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment guarded;
  private final MemorySegment region;
  private final MemoryMap memory;
  private final GridRunner runner = new GridRunner(2);
  private final PtxModule module;
  private final Map<String, Long> globals = new HashMap<>();
  private final Map<String, CompiledKernel> kernels = new HashMap<>();
  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private long used;

  private TestGpu(String ptx, long bytes) throws PtxException {
    guarded = arena.allocate(bytes + 2L * GUARD_BYTES, GUARD_BYTES);
    region = guarded.asSlice(GUARD_BYTES, bytes);
    guards().forEach(guard -> guard.fill(GUARD));
    memory = new MemoryMap(region.address(), bytes);
    module = PtxModule.parse(ptx, 90);
    placeGlobals();
  }

  /** Loads {@code kernels/NAME.ptx} from the test resources. */
  public static TestGpu load(String name) throws PtxException {
    return withPtx(resource(name + ".ptx"));
  }

  public static TestGpu withPtx(String ptx) throws PtxException {
    return new TestGpu(ptx, 64 << 20);
  }

  public static TestGpu withPtx(String ptx, long bytes) throws PtxException {
    return new TestGpu(ptx, bytes);
  }

  public static String resource(String file) {
    try (InputStream in = TestGpu.class.getResourceAsStream("/kernels/" + file)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Memory right below and above the device's, which kernels must neither read nor write. */
  public List<MemorySegment> guards() {
    return List.of(
        guarded.asSlice(0, GUARD_BYTES), guarded.asSlice(guarded.byteSize() - GUARD_BYTES));
  }

  private void placeGlobals() {
    for (GlobalVariable global : module.globals()) {
      globals.put(global.name(), allocate(Math.max(global.sizeBytes(), 1)).address());
    }
    for (GlobalVariable global : module.globals()) {
      MemorySegment at = at(globals.get(global.name()), global.sizeBytes());
      MemorySegment.copy(
          global.initializer(), 0, at, ValueLayout.JAVA_BYTE, 0, global.initializer().length);
      for (Relocation relocation : global.relocations()) {
        Long target = globals.get(relocation.symbol());
        long address =
            target != null ? target : module.functionAddress(relocation.symbol()).orElseThrow();
        at.set(
            ValueLayout.JAVA_LONG_UNALIGNED,
            relocation.offsetBytes(),
            address + relocation.addend());
      }
    }
  }

  public PtxModule module() {
    return module;
  }

  MemorySegment global(String name, long bytes) {
    return at(globals.get(name), bytes);
  }

  /** Live memory, filled with zeros; at least one dead granule follows. */
  public MemorySegment allocate(long bytes) {
    long rounded = -(-bytes & -GRANULE);
    long address = region.address() + used;
    used += rounded + GRANULE;
    if (used > region.byteSize()) {
      throw new OutOfMemoryError("test device memory is too small");
    }
    memory.markLive(address, bytes);
    return at(address, bytes);
  }

  void free(MemorySegment segment) {
    memory.markDead(segment.address(), segment.byteSize());
  }

  private MemorySegment at(long address, long bytes) {
    return region.asSlice(address - region.address(), bytes);
  }

  public MemorySegment ints(int... values) {
    MemorySegment segment = allocate(Math.max(values.length, 1) * 4L);
    MemorySegment.copy(values, 0, segment, ValueLayout.JAVA_INT, 0, values.length);
    return segment;
  }

  public MemorySegment longs(long... values) {
    MemorySegment segment = allocate(Math.max(values.length, 1) * 8L);
    MemorySegment.copy(values, 0, segment, ValueLayout.JAVA_LONG, 0, values.length);
    return segment;
  }

  public MemorySegment floats(float... values) {
    MemorySegment segment = allocate(Math.max(values.length, 1) * 4L);
    MemorySegment.copy(values, 0, segment, ValueLayout.JAVA_FLOAT, 0, values.length);
    return segment;
  }

  public MemorySegment doubles(double... values) {
    MemorySegment segment = allocate(Math.max(values.length, 1) * 8L);
    MemorySegment.copy(values, 0, segment, ValueLayout.JAVA_DOUBLE, 0, values.length);
    return segment;
  }

  /** Where the module's variables lie. */
  public Map<String, Long> globalAddresses() {
    return globals;
  }

  /** Uses a kernel that was compiled elsewhere. */
  public void install(CompiledKernel kernel) {
    kernels.put(kernel.name(), kernel);
  }

  public CompiledKernel kernel(String name) {
    return kernels.computeIfAbsent(
        name,
        key -> {
          try {
            return KernelCompiler.compile(module, key, globals);
          } catch (CompileException e) {
            throw new IllegalStateException(e);
          }
        });
  }

  /** Runs a kernel; arguments are segments (their address), numbers of the parameter's size. */
  public void run(String name, Launch launch, Object... arguments) throws KernelFaultException {
    runner.run(
        kernel(name),
        launch,
        pack(name, arguments),
        memory,
        GridServices.printing(printed::writeBytes));
  }

  public GridExecution start(String name, Launch launch, Object... arguments) {
    return runner.start(
        kernel(name),
        launch,
        pack(name, arguments),
        memory,
        GridServices.printing(printed::writeBytes));
  }

  public String printed() {
    return printed.toString(StandardCharsets.UTF_8);
  }

  public static Launch blocks(int grid, int block) {
    return new Launch(new Dim3(grid), new Dim3(block), 0, false);
  }

  public static Launch blocks(int grid, int block, int shared) {
    return new Launch(new Dim3(grid), new Dim3(block), shared, false);
  }

  public static Launch grid(int gridX, int gridY, int blockX, int blockY) {
    return new Launch(new Dim3(gridX, gridY), new Dim3(blockX, blockY), 0, false);
  }

  private MemorySegment pack(String name, Object... arguments) {
    KernelInfo info =
        module.kernels().stream()
            .filter(kernel -> kernel.name().equals(name))
            .findAny()
            .orElseThrow();
    if (info.params().size() != arguments.length) {
      throw new IllegalArgumentException(name + " takes " + info.params().size() + " arguments");
    }
    MemorySegment block = MemorySegment.ofArray(new long[Math.ceilDiv(info.paramBytes(), 8)]);
    for (int i = 0; i < arguments.length; i++) {
      ParamInfo param = info.params().get(i);
      MemorySegment to = block.asSlice(param.offsetBytes(), param.sizeBytes());
      switch (arguments[i]) {
        case MemorySegment segment -> to.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, segment.address());
        case byte[] bytes -> to.copyFrom(MemorySegment.ofArray(bytes));
        case Integer value -> to.set(ValueLayout.JAVA_INT_UNALIGNED, 0, value);
        case Long value -> to.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, value);
        case Float value -> to.set(ValueLayout.JAVA_FLOAT_UNALIGNED, 0, value);
        case Double value -> to.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, 0, value);
        default -> throw new IllegalArgumentException("argument " + arguments[i]);
      }
    }
    return block;
  }

  @Override
  public void close() {
    runner.close();
    memory.close();
    arena.close();
  }
}
