// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.identity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PodProcessesTest {
  private static final String UID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
  private static final String ID = "0123456789abcdef".repeat(4);
  private static final PodProcesses REAL = new PodProcesses(Path.of("/proc"));

  @TempDir Path proc;

  @Test
  void owner_processOfAPod_isItsContainer() throws IOException {
    write(42, "nvidia-smi", 1000);
    assertThat(processes().ownerOf(42, 1000))
        .isEqualTo(new Owner.InPod(new PodUid(UID), new ContainerId(ID)));
  }

  @Test
  void owner_programsNameIsMadeToMislead_isItsContainer() throws IOException {
    write(42, ") S 1 1 1 (", 1000);
    assertThat(processes().ownerOf(42, 1000)).isInstanceOf(Owner.InPod.class);
    assertThat(processes().ownerOf(42, 999)).isInstanceOf(Owner.Unknown.class);
  }

  @Test
  void owner_processStartedAfterItWasSeen_isAnother() throws IOException {
    write(42, "sh", 1000);
    assertThat(processes().ownerOf(42, 999))
        .isEqualTo(new Owner.Unknown("process 42 is another one by now"));
  }

  @Test
  void owner_noSuchProcess_isUnknown() {
    assertThat(processes().ownerOf(42, 1000))
        .isEqualTo(new Owner.Unknown("there is no process 42 (any more)"));
  }

  @Test
  void owner_processOfAnotherNamespace_saysWhatIsNeeded() {
    assertThat(processes().ownerOf(0, 1000))
        .isInstanceOfSatisfying(
            Owner.Unknown.class, unknown -> assertThat(unknown.reason()).contains("hostPID"));
  }

  @Test
  void owner_stateIsNoState_isUnknown() throws IOException {
    write(42, "sh", 1000);
    Files.writeString(proc.resolve("42/stat"), "42 (sh) S 1");
    assertThat(processes().ownerOf(42, 1000))
        .isEqualTo(new Owner.Unknown("process 42 has a state that cannot be read"));
  }

  @Test
  void now_uptimeIsWhole_isInHundredths() throws IOException {
    Files.writeString(proc.resolve("uptime"), "88208.22 34645.76\n");
    assertThat(processes().nowTicks()).isEqualTo(8820822);
  }

  @Test
  void now_uptimeIsNone_saysWhatItRead() throws IOException {
    Files.writeString(proc.resolve("uptime"), "up");
    assertThatThrownBy(() -> processes().nowTicks())
        .isInstanceOf(IOException.class)
        .hasMessageContaining("'up'");
  }

  @Test
  void owner_realProcess_isSeenWhileItLivesAndNotAfter() throws Exception {
    Process process = new ProcessBuilder("cat").start();
    Path stat = Path.of("/proc", Long.toString(process.pid()), "stat");
    long startTicks = PodProcesses.startTicks(Files.readString(stat)).orElseThrow();
    assertThat(REAL.nowTicks()).isGreaterThanOrEqualTo(startTicks);
    // Wherever this runs: it is not taken for another process.
    assertThat(REAL.ownerOf(process.pid(), REAL.nowTicks()))
        .isEqualTo(REAL.ownerOf(ProcessHandle.current().pid(), REAL.nowTicks()));
    assertThat(REAL.ownerOf(process.pid(), startTicks - 1))
        .isEqualTo(new Owner.Unknown("process " + process.pid() + " is another one by now"));
    process.destroyForcibly().waitFor();
    assertThat(REAL.ownerOf(process.pid(), REAL.nowTicks()))
        .isEqualTo(new Owner.Unknown("there is no process " + process.pid() + " (any more)"));
  }

  private PodProcesses processes() {
    return new PodProcesses(proc);
  }

  private void write(int pid, String name, long startTicks) throws IOException {
    Path process = Files.createDirectories(proc.resolve(Integer.toString(pid)));
    Files.writeString(
        process.resolve("stat"),
        pid
            + " ("
            + name
            + ") S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 "
            + startTicks
            + " 99 100\n");
    Files.writeString(
        process.resolve("cgroup"), "0::/kubepods/burstable/pod" + UID + "/" + ID + "\n");
  }
}
