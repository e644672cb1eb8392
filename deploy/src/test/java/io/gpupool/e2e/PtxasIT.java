// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The stand-in for NVIDIA's assembler that programs on software GPUs find, called as Triton does.
 */
class PtxasIT {
  private static final String[] WHOLE = {};
  private static final Path PTXAS = Distribution.HOME.resolve("lib/gpupool-ptxas");

  @TempDir static Path folder;
  private static Pool pool;

  @BeforeAll
  static void startPool() {
    pool = Pool.start("soft:1,mem=256Mi");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @Test
  void kernels_assembledOnASoftwareGpu_run() {
    Path code = folder.resolve("kernels.cubin");
    String script =
        "\"$TRITON_PTXAS_PATH\" -lineinfo -v --gpu-name=sm_90a \"$0\" -o \"$1\" && \"$2\" \"$1\" 1";
    Path program = CPrograms.fixture("resumed");
    Program.Ended ended =
        pool.run(WHOLE, "sh", "-c", script, Distribution.KERNELS, code, program).run();
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).contains("resumed: OK");
    assertThat(code).hasSameBinaryContentAs(Distribution.KERNELS);
  }

  @Test
  void assembler_namedByTheUser_isLeftAlone() {
    Program.Ended ended =
        pool.run(WHOLE, "sh", "-c", "echo $TRITON_PTXAS_PATH $TRITON_PTXAS_BLACKWELL_PATH")
            .with("TRITON_PTXAS_PATH", "/opt/ptxas")
            .run();
    assertThat(ended.output().strip()).isEqualTo("/opt/ptxas " + PTXAS);
  }

  @Test
  void assembler_onAnNvidiaGpu_isNvidias() {
    try (ModelGpu gpu = ModelGpu.start("mem=1Gi")) {
      Program.Ended ended = gpu.pool().run(WHOLE, "sh", "-c", "echo [$TRITON_PTXAS_PATH]").run();
      assertThat(ended.output().strip()).isEqualTo("[]");
    }
  }

  @Test
  void version_isAsToolsReadIt() {
    assertThat(Program.of(PTXAS, "--version").run().output())
        .contains("gpupool-ptxas")
        .containsPattern("release \\d+\\.\\d+, V\\d+");
  }

  @ParameterizedTest
  @CsvSource({
    "a.ptx, -o FILE",
    "-o a.cubin, a file of PTX",
    "a.ptx b.ptx -o a.cubin, b.ptx: is one file too many",
    "-o, -o: takes the name of a file",
    "--gpu-name sm_90 /nowhere/a.ptx -o a.cubin, /nowhere/a.ptx: No such file or directory",
  })
  void commandLine_thatIsWrong_isRefusedWithTheReason(String arguments, String reason) {
    Object[] command = (PTXAS + " " + arguments).split(" ");
    Program.Ended ended = Program.of(command).run();
    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.errors()).contains("gpupool-ptxas: ").contains(reason);
    assertThat(Files.exists(Path.of("a.cubin"))).isFalse();
  }

  @Test
  void output_thatCannotBeWritten_isRefusedWithTheReason() {
    Program.Ended ended =
        Program.of(PTXAS, Distribution.KERNELS, "-o", "/nowhere/kernels.cubin").run();
    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.errors()).contains("/nowhere/kernels.cubin: No such file or directory");
  }
}
