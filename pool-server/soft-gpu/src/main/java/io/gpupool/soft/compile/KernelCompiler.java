// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.exec.CompiledKernel;
import io.gpupool.soft.exec.KernelCode;
import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.PtxModule;
import io.gpupool.soft.ptx.SharedLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Turns one kernel of a module into JVM bytecode. */
public final class KernelCompiler {
  private static final String PACKAGE = "io.gpupool.soft.kernel.";

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
    Function function =
        module
            .function(kernel)
            .filter(found -> found.entry() && found.defined())
            .orElseThrow(() -> new CompileException("the module has no kernel " + kernel));
    try {
      return compile(module, function, globalAddresses);
    } catch (RefusedException e) {
      throw new CompileException("kernel " + kernel + ": " + e.getMessage());
    } catch (StackOverflowError e) {
      throw new CompileException("kernel " + kernel + " is nested too deeply");
    }
  }

  private static CompiledKernel compile(
      PtxModule module, Function function, Map<String, Long> globalAddresses)
      throws CompileException {
    SharedLayout shared = module.sharedLayout(function);
    Graph graph = Lowering.lower(module, function, globalAddresses, shared);
    Loops.addLatches(graph);
    Liveness.compute(graph);
    RegisterKinds.decide(graph);
    int frameBytes = LocalSlots.assign(graph, Code.FIRST_REGISTER_LOCAL);
    List<BasicBlock> resumable = numberResumePoints(graph);
    String className = PACKAGE + function.name();
    byte[] bytes;
    try {
      bytes = KernelClass.write(className, graph, resumable);
    } catch (IllegalArgumentException e) {
      throw new CompileException(
          "kernel " + function.name() + " is too large for a JVM method: " + e.getMessage());
    }
    return new CompiledKernel(
        function.name(),
        instantiate(className, bytes),
        !resumable.isEmpty(),
        shared.staticBytes(),
        -(-graph.localBytes() & -16),
        frameBytes);
  }

  private static List<BasicBlock> numberResumePoints(Graph graph) {
    List<BasicBlock> resumable = new ArrayList<>();
    for (BasicBlock block : graph.order()) {
      BasicBlock next =
          switch (block.terminator()) {
            case Terminator.Wait wait -> wait.next();
            case Terminator.Latch latch when latch.yields() -> latch.next();
            default -> null;
          };
      if (next != null && next.resumeId() == 0) {
        resumable.add(next);
        next.resumeId(resumable.size());
      }
    }
    return resumable;
  }

  private static KernelCode instantiate(String className, byte[] bytes) {
    try {
      return (KernelCode)
          new Loader(bytes).loadClass(className).getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("generated class " + className, e);
    }
  }

  /** One loader a kernel, so that a dropped kernel's class can be unloaded. */
  private static final class Loader extends ClassLoader {
    private final byte[] bytes;

    Loader(byte[] bytes) {
      super(MemoryAccess.loader());
      this.bytes = bytes;
    }

    @Override
    protected Class<?> findClass(String name) {
      return defineClass(name, bytes, 0, bytes.length);
    }
  }
}
