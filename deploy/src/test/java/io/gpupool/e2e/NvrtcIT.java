// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Programs that compile for a real architecture with NVIDIA's NVRTC, on a software GPU. */
class NvrtcIT {
  private static final String[] WHOLE = {};
  private static final Path TOOLKIT = Path.of("/usr/local/cuda/lib64");
  // Beside PyTorch's CUDA build.
  private static final String FIND =
      """
      import glob, os, torch
      root = os.path.dirname(os.path.dirname(torch.__file__))
      print((glob.glob(root + '/nvidia/*/lib/libnvrtc.so.*') + ['none'])[0])\
      """;

  private static Path nvrtc;
  private static Pool pool;

  @BeforeAll
  static void startPool() {
    Optional<Path> found = find();
    assumeTrue(
        found.isPresent(),
        "there is no NVRTC in "
            + TOOLKIT
            + " or beside PyTorch; GPUPOOL_TEST_NVRTC names a libnvrtc.so.N");
    nvrtc = found.orElseThrow();
    pool = Pool.start("soft:1,mem=256Mi,cc=8.6");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @Test
  void run_programThatOpensNvrtc_runsWhatItCompiledForTheCard() {
    assertComputes(CPrograms.fixture("nvrtc"));
  }

  @Test
  void run_programLinkedToNvrtc_runsWhatItCompiledForTheCard() {
    assertComputes(CPrograms.fixture("nvrtc", "linked", "-DNVRTC_LINKED", nvrtc.toString()));
  }

  private static void assertComputes(Path program) {
    Program.Ended ended =
        pool.run(WHOLE, program, nvrtc).with("LD_LIBRARY_PATH", nvrtc.getParent()).run();
    assertThat(ended.output()).as(ended.toString()).contains("nvrtc: OK").contains("sm_86");
    assertThat(ended.errors()).isEmpty();
  }

  private static Optional<Path> find() {
    String named = System.getenv("GPUPOOL_TEST_NVRTC");
    if (named != null) {
      return Optional.of(Path.of(named));
    }
    if (Files.isDirectory(TOOLKIT)) {
      try (DirectoryStream<Path> files = Files.newDirectoryStream(TOOLKIT, "libnvrtc.so.*")) {
        for (Path file : files) {
          return Optional.of(file);
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    String python = PyTorch.command();
    Program.Ended asked = Program.of(python, "-c", FIND).run();
    return Optional.of(asked.output().strip())
        .filter(path -> asked.status() == 0 && path.startsWith("/"))
        .map(Path::of);
  }
}
