// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.exec.CompiledKernel;
import io.gpupool.soft.ptx.PtxModule;
import java.util.Map;

/** Turns one kernel of a module into JVM bytecode. */
public final class KernelCompiler {
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
    throw new CompileException("no compiler is present for kernel " + kernel);
  }
}
