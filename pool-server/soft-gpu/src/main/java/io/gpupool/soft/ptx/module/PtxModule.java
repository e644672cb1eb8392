// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.module;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Function.Formal;
import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.KernelInfo;
import io.gpupool.soft.ptx.KernelResources;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.ParamInfo;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Relocation;
import io.gpupool.soft.ptx.RuntimeFunction;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Statement;
import io.gpupool.soft.ptx.Variable;
import io.gpupool.soft.ptx.parse.ModuleParser;
import io.gpupool.soft.ptx.parse.SourceLines;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;

/** PTX translation units, parsed, checked and linked; immutable, usable from any thread. */
public final class PtxModule {
  /**
   * Start of the addresses that stand for functions; no memory lies there. A function's address is
   * only good for being called.
   */
  public static final long FUNCTION_WINDOW = 0x0400_0000_0000L;

  private static final int FUNCTION_STRIDE = 16;

  private final Map<String, Function> functions;
  private final Map<String, String> aliases;
  private final List<String> functionOrder;
  private final List<KernelInfo> kernels;
  private final List<GlobalVariable> globals;
  private final Map<String, SourceLines> sourceLines = new HashMap<>();
  private final Set<String> runtimeMethods;
  private final boolean usesHeap;
  private final byte[] digest;

  private PtxModule(Linker linked, List<PtxUnit> units) throws PtxException {
    MessageDigest sha256 = sha256();
    units.forEach(unit -> sha256.update(unit.digest()));
    digest = sha256.digest();
    functions = new LinkedHashMap<>(linked.functions());
    aliases = Map.copyOf(linked.aliases());
    functionOrder = List.copyOf(functions.keySet());
    globals = List.copyOf(linked.globals().values());
    List<KernelInfo> found = new ArrayList<>();
    for (Function function : functions.values()) {
      if (function.entry() && function.defined()) {
        found.add(describe(function, linked.home(function).parsed()));
        sourceLines.put(function.name(), linked.home(function).parsed().sourceLines());
      }
    }
    kernels = List.copyOf(found);
    runtimeMethods =
        functions.values().stream()
            .filter(function -> !function.defined())
            .flatMap(function -> RuntimeFunction.named(function.name()).stream())
            .map(RuntimeFunction::method)
            .collect(Collectors.toUnmodifiableSet());
    Function malloc = functions.get("malloc");
    usesHeap = malloc != null && !malloc.defined() || runtimeMethods.contains("Malloc");
  }

  /**
   * Parses PTX text that may name what is defined nowhere.
   *
   * @param computeCapability of the device, 10 * major + minor; a higher {@code .target} is refused
   * @throws PtxException on the first error
   */
  public static PtxModule parse(String text, int computeCapability) throws PtxException {
    List<PtxUnit> units = List.of(PtxUnit.parse(text, computeCapability));
    return new PtxModule(new Linker(units), units);
  }

  /**
   * Links units, one at least.
   *
   * @throws PtxException if a name is defined twice, or named and not defined
   */
  public static PtxModule link(List<PtxUnit> units) throws PtxException {
    Linker linker = new Linker(units);
    linker.requireComplete();
    return new PtxModule(linker, units);
  }

  /** Tells modules of other text, or for another device, apart. */
  public byte[] digest() {
    return digest.clone();
  }

  /** The digest that all of the software GPU uses. */
  public static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java runtime has SHA-256", e);
    }
  }

  /** The {@code .entry} functions in source order. */
  public List<KernelInfo> kernels() {
    return kernels;
  }

  /** Global and constant variables of module scope, {@code .extern} ones included. */
  public List<GlobalVariable> globals() {
    return globals;
  }

  /**
   * The place in the source, {@code FILE:LINE}, of a line of the unit that defines a kernel; empty
   * where that has no line information.
   */
  public Optional<String> sourceLine(String kernel, int ptxLine) {
    return Optional.ofNullable(sourceLines.get(kernel)).flatMap(lines -> lines.of(ptxLine));
  }

  /** Finds a function or kernel, following {@code .alias}. */
  public Optional<Function> function(String name) {
    return Optional.ofNullable(functions.get(aliases.getOrDefault(name, name)));
  }

  /**
   * The address that stands for a function, for relocations that name one; empty if there is none
   * of that name.
   */
  public OptionalLong functionAddress(String name) {
    int index = functionOrder.indexOf(aliases.getOrDefault(name, name));
    return index < 0
        ? OptionalLong.empty()
        : OptionalLong.of(FUNCTION_WINDOW + (index + 1L) * FUNCTION_STRIDE);
  }

  /** Number of the function for which an address stands; no function has 0. */
  public static int functionIndex(long address) {
    long distance = address - FUNCTION_WINDOW;
    boolean exact = distance >= 0 && distance % FUNCTION_STRIDE == 0;
    return exact && distance / FUNCTION_STRIDE <= Integer.MAX_VALUE
        ? (int) (distance / FUNCTION_STRIDE)
        : 0;
  }

  /** Whether any code of the module allocates memory from the device heap. */
  public boolean usesHeap() {
    return usesHeap;
  }

  /** Whether any code of the module calls the device runtime, with which kernels launch kernels. */
  public boolean usesRuntime() {
    return !runtimeMethods.isEmpty();
  }

  /** Whether any code of the module waits on the device for the kernels that it launches. */
  public boolean synchronizesOnDevice() {
    return runtimeMethods.contains(RuntimeFunction.SYNCHRONIZE);
  }

  /** The kernel for which an address stands. */
  public Optional<String> kernelAt(long address) {
    int index = functionIndex(address);
    return index < 1 || index > functionOrder.size()
        ? Optional.empty()
        : Optional.of(functionOrder.get(index - 1))
            .filter(name ->
                requireNonNull(functions.get(name)).entry()
                    && requireNonNull(functions.get(name)).defined());
  }

  /**
   * The kernels that a kernel may launch, those that they may launch included: whatever kernel the
   * code or initial data holds the address of.
   */
  public Set<String> launchableFrom(String kernel) {
    Set<String> found = new LinkedHashSet<>();
    Deque<Function> open = new ArrayDeque<>();
    function(kernel).ifPresent(open::add);
    while (!open.isEmpty()) {
      for (Function function : reachableFrom(open.remove())) {
        References references = new References();
        references.addAll(function);
        for (String name : references.functions()) {
          function(name)
              .filter(target -> target.entry() && target.defined() && found.add(target.name()))
              .ifPresent(open::add);
        }
      }
    }
    return found;
  }

  /** Whether any code of the module takes memory from its stack with {@code alloca}. */
  public boolean usesStack() {
    return functions.values().stream().anyMatch(function -> function.uses("alloca"));
  }

  /** Every function whose address an initial value or an instruction other than a call holds. */
  public Set<Function> addressTakenFunctions() {
    Set<Function> taken = new LinkedHashSet<>();
    for (GlobalVariable global : globals) {
      for (Relocation relocation : global.relocations()) {
        function(relocation.symbol()).ifPresent(taken::add);
      }
    }
    for (Function function : functions.values()) {
      References references = new References();
      references.addAllButCallTargets(function);
      references.functions().forEach(name -> function(name).ifPresent(taken::add));
    }
    return taken;
  }

  /** Lays out the shared memory of a kernel of this module. */
  public SharedLayout sharedLayout(Function kernel) {
    try {
      return SharedLayout.of(kernel, this);
    } catch (PtxException e) {
      throw new IllegalStateException("layout was checked when the module was parsed", e);
    }
  }

  /** The function itself and all that it may call, by name or through an address. */
  Set<Function> reachableFrom(Function start) {
    Set<Function> reached = new LinkedHashSet<>(Set.of(start));
    Deque<Function> open = new ArrayDeque<>(reached);
    boolean dataAdded = false;
    while (!open.isEmpty()) {
      Function function = open.remove();
      References references = new References();
      references.addAll(function);
      Set<String> names = new LinkedHashSet<>(references.functions());
      if (!dataAdded && callsIndirectly(function)) {
        dataAdded = true;
        addressTakenFunctions().forEach(taken -> names.add(taken.name()));
      }
      for (String name : names) {
        // A kernel whose address is taken is launched, not called.
        function(name).filter(found -> !found.entry()).filter(reached::add).ifPresent(open::add);
      }
    }
    return reached;
  }

  private static boolean callsIndirectly(Function function) {
    return function.body().stream()
        .anyMatch(statement ->
            statement instanceof Statement.Instruction instruction
                && instruction.opcode().equals("call")
                && instruction.operands().stream().anyMatch(Operand.Reg.class::isInstance));
  }

  private KernelInfo describe(Function kernel, ModuleParser parsed) throws PtxException {
    List<ParamInfo> params = new ArrayList<>();
    long offset = 0;
    for (Formal formal : kernel.params()) {
      if (!(formal instanceof Formal.InMemory(Variable variable))) {
        throw new PtxException(
            kernel.line(), 1, "Parameters of kernel '" + kernel.name() + "' must be .param");
      }
      offset = -(-offset & -variable.alignBytes());
      params.add(new ParamInfo((int) offset, (int) variable.sizeBytes(), variable.alignBytes()));
      offset += variable.sizeBytes();
      if (offset > MAX_PARAM_BYTES) {
        throw new PtxException(
            kernel.line(), 1, "Formal parameter space overflowed in function " + kernel.name());
      }
    }
    long local = 0;
    for (Variable variable : kernel.locals()) {
      if (variable.space() == Space.LOCAL) {
        local = -(-local & -variable.alignBytes()) + variable.sizeBytes();
      }
    }
    return new KernelInfo(
        kernel.name(),
        List.copyOf(params),
        (int) offset,
        new KernelResources(
            estimateRegisters(kernel),
            SharedLayout.of(kernel, this).staticBytes(),
            (int) Math.min(local, Integer.MAX_VALUE)),
        parsed.maxThreadsPerBlock(kernel.name()),
        parsed.cluster(kernel.name()),
        parsed.target());
  }

  private static final int MAX_PARAM_BYTES = 32764;

  /** Twice the square root of the instruction count, a rough fit to what ptxas allots. */
  private static int estimateRegisters(Function kernel) {
    int estimate = 8 + (int) (2 * Math.sqrt(kernel.body().size()));
    return Math.clamp(-(-estimate & -8), 16, 255);
  }
}
