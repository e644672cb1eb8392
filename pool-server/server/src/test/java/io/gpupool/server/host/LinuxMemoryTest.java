// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LinuxMemoryTest {
  @TempDir private Path root;

  @Test
  void available_noLimit_isTheMachines() throws Exception {
    write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n");
    write("proc/self/cgroup", "0::/user\n");
    write("sys/fs/cgroup/user/memory.max", "max\n");
    write("sys/fs/cgroup/user/memory.current", "1000\n");
    assertThat(new LinuxMemory(root).availableBytes()).isEqualTo(8000 * 1024);
  }

  @Test
  void available_version2_isTheLeastOfAllGroupsAroundIt() throws Exception {
    write("proc/meminfo", "MemAvailable: 8000 kB\n");
    write("proc/self/cgroup", "0::/pods/server\n");
    write("sys/fs/cgroup/pods/memory.max", "5000\n");
    write("sys/fs/cgroup/pods/memory.current", "4500\n");
    write("sys/fs/cgroup/pods/memory.stat", "anon 4000\ninactive_file 300\n");
    write("sys/fs/cgroup/pods/server/memory.max", "3000\n");
    write("sys/fs/cgroup/pods/server/memory.current", "1000\n");
    assertThat(new LinuxMemory(root).availableBytes()).isEqualTo(800);
  }

  @Test
  void available_version1InAContainer_isThatOfTheMountedGroup() throws Exception {
    write("proc/meminfo", "MemAvailable: 8000 kB\n");
    write("proc/self/cgroup", "3:cpu,cpuacct:/docker/a\n2:memory:/docker/a\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000\n");
    write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1500\n");
    write("sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 100\n");
    assertThat(new LinuxMemory(root).availableBytes()).isEqualTo(600);
  }

  @Test
  void available_thisMachine_isSomeMemory() {
    assertThat(new LinuxMemory().availableBytes()).isBetween(1L << 20, 1L << 50);
  }

  @Test
  void resident_processes_isTheirPrivateMemory() {
    LinuxMemory memory = new LinuxMemory();
    assertThat(memory.residentBytes(ProcessHandle.current().pid())).isGreaterThan(1 << 20);
    assertThat(memory.residentBytes(Integer.MAX_VALUE)).isZero();
  }

  private void write(String file, String text) throws IOException {
    Path path = root.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text);
  }
}
