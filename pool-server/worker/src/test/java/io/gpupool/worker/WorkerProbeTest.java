// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.worker.session.TestDriver;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The command line of the worker, and the inventory that it prints. */
class WorkerProbeTest extends WorkerProcessFixture {
  @Test
  void probe_ofSoftwareGpus_printsALineEach() throws Exception {
    worker = start("--probe", "--gpus", "soft:2,mem=64Mi");
    List<String> lines =
        new String(worker.getInputStream().readAllBytes(), StandardCharsets.UTF_8).lines().toList();

    assertThat(worker.waitFor()).isZero();
    assertThat(lines).hasSize(2);
    assertThat(lines.get(1)).startsWith("ordinal=1 uuid=GPU-").contains(" memory=67108864 cc=9.0 ");
  }

  @Test
  void probe_withoutDriver_exitsWith3AndSaysWhy() throws Exception {
    worker = start("--probe", "--gpus", "all", "--libcuda", folder.resolve("none.so").toString());

    assertThat(worker.waitFor()).isEqualTo(3);
    assertThat(Files.readString(folder.resolve("errors")))
        .contains("there is no NVIDIA driver: ", "none.so: cannot open shared object file");
  }

  @Test
  void probe_ofALibraryThatCannotBeLoaded_exitsWith4AndSaysWhatTheLinkerSays() throws Exception {
    Path library = Files.writeString(folder.resolve("libcuda.so.1"), "no library");
    worker = start("--probe", "--gpus", "all", "--libcuda", library.toString());

    assertThat(worker.waitFor()).isEqualTo(4);
    assertThat(Files.readString(folder.resolve("errors")))
        .contains("library cannot be loaded: " + library + ": ", "too short");
  }

  @Test
  void probe_ofADriverThatDoesNotStart_namesTheErrorAndSaysWhatToDo() throws Exception {
    String library = TestDriver.library().toString();
    worker =
        startIn(Map.of("TESTCUDA_INIT", "803"), "--probe", "--gpus", "all", "--libcuda", library);

    assertThat(worker.waitFor()).isEqualTo(4);
    assertThat(Files.readString(folder.resolve("errors")))
        .contains(
            "failed with CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): library and kernel module are of"
                + " different versions");
  }

  @Test
  void probe_ofADriverThatIsNotReady_exitsWith5() throws Exception {
    String library = TestDriver.library().toString();
    worker =
        startIn(Map.of("TESTCUDA_INIT", "802"), "--probe", "--gpus", "all", "--libcuda", library);

    assertThat(worker.waitFor()).isEqualTo(5);
    assertThat(Files.readString(folder.resolve("errors")))
        .contains("failed with CUDA error 802: ", "nvidia-fabricmanager");
  }

  @Test
  void unknownOption_isNamedWithTheUsage() throws Exception {
    worker = start("--gpu", "all");

    assertThat(worker.waitFor()).isEqualTo(2);
    assertThat(Files.readString(folder.resolve("errors")))
        .contains("unknown option --gpu; usage: WorkerMain");
  }
}
