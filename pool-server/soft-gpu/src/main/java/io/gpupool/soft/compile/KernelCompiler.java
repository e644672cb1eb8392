// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.compile.emit.Code;
import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.lowering.Lowering;
import io.gpupool.soft.compile.method.KernelClass;
import io.gpupool.soft.compile.method.MethodPlan;
import io.gpupool.soft.compile.method.Region;
import io.gpupool.soft.compile.passes.FrameRegisters;
import io.gpupool.soft.compile.passes.Liveness;
import io.gpupool.soft.compile.passes.LocalSlots;
import io.gpupool.soft.compile.passes.Loops;
import io.gpupool.soft.compile.passes.RegisterKinds;
import io.gpupool.soft.compile.passes.Rematerializer;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.launch.KernelMemory;
import io.gpupool.soft.exec.launch.RegionTable;
import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.module.PtxModule;
import io.gpupool.soft.ptx.module.SharedLayout;
import java.util.List;
import java.util.Map;

/** The compiler of one kernel of a module to JVM bytecode. */
public final class KernelCompiler {
  private static final String PACKAGE = "io.gpupool.soft.kernel.";

  /** Local memory and frames a thread may fill by calls. */
  private static final int STACK_BYTES = 64 << 10;

  private static final int MAX_METHOD_BYTES = 12_000;
  private static final int MIN_METHOD_BYTES = 200;

  private KernelCompiler() {}

  /**
   * Compiles a kernel.
   *
   * @param globalAddresses device address of every module variable the kernel may name, external
   *     ones included
   * @throws CompileException if the kernel uses an instruction or feature that is not supported
   */
  public static CompiledKernel compile(
      PtxModule module, String kernel, Map<String, Long> globalAddresses) throws CompileException {
    return compile(module, kernel, globalAddresses, MAX_METHOD_BYTES);
  }

  /** What {@link #load} takes. */
  public static KernelBinary translate(
      PtxModule module, String kernel, Map<String, Long> globalAddresses) throws CompileException {
    return translate(module, kernel, globalAddresses, MAX_METHOD_BYTES);
  }

  /** As above, with a limit of one's own to the size of JVM methods. */
  static CompiledKernel compile(
      PtxModule module, String kernel, Map<String, Long> globalAddresses, int maxMethodBytes)
      throws CompileException {
    return load(module, translate(module, kernel, globalAddresses, maxMethodBytes));
  }

  /** Loads what was made of a kernel of a module; only then the JVM looks at its types. */
  public static CompiledKernel load(PtxModule module, KernelBinary binary) throws CompileException {
    try {
      return binary.load();
    } catch (VerifyError e) {
      throw mixed(module.function(binary.name()).orElseThrow());
    }
  }

  private static CompileException mixed(Function function) {
    return new RefusedException("mixes operands of different types").in(function);
  }

  private static KernelBinary translate(
      PtxModule module, String kernel, Map<String, Long> globalAddresses, int maxMethodBytes)
      throws CompileException {
    Function function =
        module
            .function(kernel)
            .filter(found -> found.entry() && found.defined())
            .orElseThrow(() -> new CompileException("the module has no kernel " + kernel));
    try {
      return translate(module, function, globalAddresses, maxMethodBytes);
    } catch (RefusedException e) {
      throw e.in(function);
    } catch (StackOverflowError e) {
      throw new RefusedException("calls are nested too deeply").in(function);
    }
  }

  private static KernelBinary translate(
      PtxModule module, Function function, Map<String, Long> globalAddresses, int maxMethodBytes)
      throws CompileException {
    SharedLayout shared = module.sharedLayout(function);
    Graph graph = Lowering.lower(module, function, globalAddresses, shared);
    Loops.addLatches(graph);
    Liveness.compute(graph);
    if (!graph.hasCalls()) {
      Rematerializer.apply(graph);
      Liveness.compute(graph);
    }
    RegisterKinds.decide(graph);
    FrameRegisters.choose(graph);
    String className = PACKAGE + function.name();
    Written written = write(className, function, graph, maxMethodBytes);
    boolean waits = written.plan().waits(graph);
    int localBytes = -(-graph.localBytes() & -16);
    int perActivation = localBytes + graph.frameBytes();
    int maxDepth =
        graph.hasCalls() ? Math.clamp(STACK_BYTES / Math.max(1, perActivation), 24, 4096) : 1;
    KernelMemory memory =
        new KernelMemory(
            graph.paramBytes(), shared.staticBytes(), localBytes, graph.frameBytes(), maxDepth);
    return new KernelBinary(
        function.name(),
        className,
        written.bytes(),
        waits,
        memory,
        waits ? Region.table(written.regions(), written.plan()) : RegionTable.EMPTY);
  }

  private record Written(byte[] bytes, MethodPlan plan, List<Region> regions) {}

  /** Writes the class, in smaller methods each time that one turns out too large. */
  private static Written write(String className, Function function, Graph graph, int maxMethodBytes)
      throws CompileException {
    for (int target = maxMethodBytes; target >= MIN_METHOD_BYTES; target /= 2) {
      MethodPlan plan = MethodPlan.of(graph, target);
      graph.registerBytes(LocalSlots.assign(graph, Code.FIRST_REGISTER_LOCAL));
      List<Region> regions = Region.of(graph, plan, target);
      try {
        return new Written(KernelClass.write(className, graph, plan, regions), plan, regions);
      } catch (IllegalArgumentException e) {
        // The class file API reports in this way what is beyond a limit, and code that takes a long
        // from the stack where an int lies.
        if (String.valueOf(e.getMessage())
            .lines()
            .findFirst()
            .orElse("")
            .matches("(?i).*\\bstack\\b.*")) {
          throw mixed(function);
        }
      }
    }
    throw new RefusedException("does not fit in JVM methods, however it is split").in(function);
  }
}
