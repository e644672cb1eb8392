// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.ptx.module.PtxModule;
import java.util.Map;

/** Compiles kernels into many JVM methods, as is done with those that are too large for one. */
public final class SmallMethods {
  private static final int METHOD_BYTES = 400;

  private SmallMethods() {}

  public static CompiledKernel compile(
      PtxModule module, String kernel, Map<String, Long> globalAddresses) throws CompileException {
    return KernelCompiler.compile(module, kernel, globalAddresses, METHOD_BYTES);
  }
}
