// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * PyTorch's CUDA build and NVIDIA's libraries, driven through all their calls on a software GPU
 * that passes over kernels without PTX: no call is refused, and nothing is left behind.
 */
class FrameworksIT {
  private static final String[] WHOLE = {};
  private static final Duration PATIENCE = Duration.ofMinutes(5);
  private static final int STEPS = 50;
  private static final Path TRAIN = Distribution.DEPLOY.resolve("src/test/python/train.py");

  private static String python;
  private static Path nvidia;
  private static Pool pool;
  private static long freeBytes;

  @BeforeAll
  static void startPool() {
    PyTorch torch = PyTorch.assumed();
    python = torch.interpreter();
    nvidia = torch.packages().resolve("nvidia");
    pool = Pool.startAsInstalled("soft:2,mem=8Gi", "--soft-missing-ptx=skip");
    freeBytes = pool.freeBytes();
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    pool.awaitFreeBytes(freeBytes);
    assertThat(pool.leases()).isEmpty();
    assertThat(pool.sessions()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "cnn, eager, ''",
    "gpt, eager, ''",
    "cnn, amp, ''",
    "gpt, amp, ''",
    "cnn, graphs, ''",
    "gpt, graphs, ''",
    "cnn, loader, ''",
    "gpt, compile, ''",
    "cnn, eager, expandable_segments:True",
    "gpt, eager, expandable_segments:True",
    "gpt, eager, backend:cudaMallocAsync",
  })
  void train_networkForSteps_noCallIsRefused(String model, String mode, String allocator) {
    Path trace =
        CallTrace.place(
            Stream.of(model, mode, allocator.replace(':', '-'))
                .filter(part -> !part.isEmpty())
                .collect(Collectors.joining("-")));
    Program.Builder run =
        pool.run(WHOLE, python, TRAIN, model, mode, STEPS).with("GPUPOOL_TRACE", trace);
    if (!allocator.isEmpty()) {
      run = run.with("PYTORCH_CUDA_ALLOC_CONF", allocator);
    }
    Program.Ended ended = run.run(PATIENCE);
    assertThat(ended.output())
        .as(ended.toString())
        .contains("train " + model + " " + mode + ": OK, " + STEPS + " steps");
    CallTrace calls = CallTrace.read(trace);
    assertThat(calls.refused()).as(trace.toString()).isZero();
    // Workers of the data loader make no call; what compiles kernels may look at the GPU.
    if (!mode.equals("compile")) {
      assertThat(calls.processes()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "cublas, libcublas.so",
    "cublaslt, libcublasLt.so",
    "cufft, libcufft.so",
    "curand, libcurand.so",
    "cusparse, libcusparse.so",
    "cusolver, libcusolver.so",
    "cudnn, libcudnn.so",
    "nvjitlink, libnvJitLink.so",
  })
  void library_basicCalls_noneIsRefused(String name, String file) {
    Path trace = CallTrace.place(name);
    Program.Ended ended =
        pool.run(WHOLE, CPrograms.fixture("libraries"), name, find(file))
            .with("LD_LIBRARY_PATH", libraryPath())
            .with("GPUPOOL_TRACE", trace)
            .run(PATIENCE);
    assertThat(ended.output()).as(ended.toString()).contains(name + ": OK");
    assertThat(CallTrace.read(trace).refused()).as(trace.toString()).isZero();
  }

  /** It asks for page-locked memory of a NUMA node to see whether there is such. */
  @Test
  void nccl_sumOverTwoGpus_onlyItsProbeIsRefused() {
    Path trace = CallTrace.place("nccl");
    String[] both = {"-n", "2"};
    Program.Ended ended =
        pool.run(both, CPrograms.fixture("libraries"), "nccl", find("libnccl.so"))
            .with("LD_LIBRARY_PATH", libraryPath())
            .with("NCCL_DEBUG", "INFO")
            .with("GPUPOOL_NCCL", "off")
            .with("GPUPOOL_TRACE", trace)
            .run(PATIENCE);
    assertThat(ended.output()).as(ended.toString()).contains("via P2P/").contains("nccl: OK");
    assertThat(CallTrace.read(trace).refused()).as(trace.toString()).isLessThanOrEqualTo(1);
  }

  @Test
  void nccl_openedByItsPath_isThePools() {
    String[] both = {"-n", "2"};
    Program.Ended ended =
        pool.run(
                both,
                CPrograms.ncclExample("conformance"),
                "--cases",
                9,
                "--nccl",
                find("libnccl.so"))
            .run(PATIENCE);
    assertThat(ended.output()).as(ended.toString()).contains("conformance: OK");
  }

  @Test
  void run_withPoolOfItsOwn_skipsKernelsWithoutPtx() {
    Path trace = CallTrace.place("own-pool");
    Program.Ended ended =
        Program.of(
                Distribution.gpupool(),
                "run",
                "--gpus",
                "soft:1,mem=1Gi",
                "--soft-missing-ptx=skip",
                "--",
                python,
                "-c",
                "import torch; torch.ones(8, device='cuda').sum().item(); print('summed')")
            .with("GPUPOOL_TRACE", trace)
            .run(PATIENCE);
    assertThat(ended.output()).as(ended.toString()).contains("summed");
    assertThat(CallTrace.read(trace).refused()).as(trace.toString()).isZero();
  }

  /** All folders of libraries beside PyTorch. */
  private static String libraryPath() {
    try (Stream<Path> folders = Files.find(nvidia, 2, (path, is) -> path.endsWith("lib"))) {
      return folders.map(Path::toString).collect(Collectors.joining(":"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A library by its name without version. */
  private static Path find(String file) {
    for (String folder : libraryPath().split(":")) {
      try (DirectoryStream<Path> files =
          Files.newDirectoryStream(Path.of(folder), file + ".[0-9]*")) {
        for (Path found : files) {
          return found;
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    throw new AssertionError("no " + file + " below " + nvidia);
  }
}
