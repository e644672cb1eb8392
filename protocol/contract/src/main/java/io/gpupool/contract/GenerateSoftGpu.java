// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** A generator of the software GPU's Java: the results of the driver API. */
public final class GenerateSoftGpu {
  private GenerateSoftGpu() {}

  /**
   * Runs the generator.
   *
   * @param args the folder of the description, and the source folder to write into
   */
  public static void main(String[] args) throws IOException {
    if (args.length != 2) {
      throw new IllegalArgumentException("usage: GenerateSoftGpu CONTRACTDIR OUTDIR");
    }
    emitStatus(Contract.read(Path.of(args[0])).wire().results(), Path.of(args[1]));
  }

  private static void emitStatus(List<CudaResultCode> results, Path outputFolder)
      throws IOException {
    JavaSource source = new JavaSource("io.gpupool.soft", "CudaStatus");
    source.line("/** Results of the CUDA driver API (CUresult). */");
    source.line("public enum CudaStatus {");
    for (CudaResultCode result : results) {
      String end = result.equals(results.getLast()) ? ";" : ",";
      source.line("  %s(%d)%s", result.name(), result.code(), end);
    }
    source.line("");
    source.line("  private final int code;");
    source.line("");
    source.line("  CudaStatus(int code) {");
    source.line("    this.code = code;");
    source.line("  }");
    source.line("");
    source.line("  /** Returns the CUresult value. */");
    source.line("  public int code() {");
    source.line("    return code;");
    source.line("  }");
    source.line("");
    source.line("  /** Returns the status of a CUresult value; {@link #UNKNOWN} for any other. */");
    source.line("  public static CudaStatus of(int code) {");
    source.line("    for (CudaStatus status : values()) {");
    source.line("      if (status.code == code) {");
    source.line("        return status;");
    source.line("      }");
    source.line("    }");
    source.line("    return UNKNOWN;");
    source.line("  }");
    source.line("}");
    source.write(outputFolder);
  }
}
