// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;

/** A writer of the {@code Backend} interface and its binding to a real driver. */
final class BackendEmitter {
  private final Contract contract;
  private final Path outputFolder;

  BackendEmitter(Contract contract, Path outputFolder) {
    this.contract = contract;
    this.outputFolder = outputFolder;
  }

  void emit() throws IOException {
    emitInterface();
    emitNvidia();
  }

  private void emitInterface() throws IOException {
    JavaSource source = new JavaSource("Backend");
    source.line("/**");
    source.line(
        " * Executor of CUDA driver calls. Results are CUresult values; handles, device addresses"
            + " and");
    source.line(
        " * host addresses are {@code long}. A call that a backend does not override is not"
            + " supported.");
    source.line(" */");
    source.line("public interface Backend extends BackendTraits {");
    for (EntryPoint entryPoint : contract.entryPoints()) {
      if (entryPoint.backend()) {
        Signature signature = new Signature(entryPoint, contract.types());
        source.line("");
        source.line(
            "  /** Executes the call, with parameters {@code (%s)}. */", signature.comment());
        source.line("  default int %s(%s) {", entryPoint.symbol(), signature.declaration());
        source.line("    return CudaResult.NOT_SUPPORTED;");
        source.line("  }");
      }
    }
    source.line("}");
    source.write(outputFolder);
  }

  private void emitNvidia() throws IOException {
    JavaSource source = new JavaSource("NvidiaBackend");
    source.line("import static java.lang.foreign.ValueLayout.*;");
    source.line("");
    source.line("import java.lang.foreign.FunctionDescriptor;");
    source.line("import java.lang.invoke.MethodHandle;");
    source.line("");
    source.line(
        "/** Binding to libcuda, which {@link LibCuda} opens; calls that the library lacks are not"
            + " supported. */");
    source.line("public class NvidiaBackend implements Backend {");
    for (EntryPoint entryPoint : contract.entryPoints()) {
      if (entryPoint.backend()) {
        Signature signature = new Signature(entryPoint, contract.types());
        source.line("  private static final MethodHandle %s =", handle(entryPoint));
        source.line(
            "      LibCuda.bind(\"%s\", FunctionDescriptor.of(%s));",
            entryPoint.symbol(), signature.layouts());
      }
    }
    for (EntryPoint entryPoint : contract.entryPoints()) {
      if (entryPoint.backend()) {
        emitDowncall(source, entryPoint);
      }
    }
    source.line("}");
    source.write(outputFolder);
  }

  private void emitDowncall(JavaSource source, EntryPoint entryPoint) {
    Signature signature = new Signature(entryPoint, contract.types());
    source.line("");
    source.line("  @Override");
    source.line("  public int %s(%s) {", entryPoint.symbol(), signature.declaration());
    source.line("    if (%s == null) {", handle(entryPoint));
    source.line("      return LibCuda.missing(\"%s\");", entryPoint.symbol());
    source.line("    }");
    source.line("    try {");
    source.line(
        "      return (int) (long) %s.invokeExact(%s);", handle(entryPoint), signature.arguments());
    source.line("    } catch (Throwable e) {");
    source.line("      throw LibCuda.failed(\"%s\", e);", entryPoint.symbol());
    source.line("    }");
    source.line("  }");
  }

  private static String handle(EntryPoint entryPoint) {
    return "H_" + entryPoint.symbol();
  }
}
