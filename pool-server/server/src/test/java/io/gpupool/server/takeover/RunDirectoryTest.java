// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.takeover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.gpupool.runtime.ProcessInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunDirectoryTest {
  private static final int NOBODY = 65534;

  @TempDir Path temporary;

  @Test
  void open_notThere_makesAFolderThatNoOtherUserMayEnter() throws Exception {
    Path folder = temporary.resolve("above/run");
    try (RunDirectory run = RunDirectory.open(folder)) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)))
          .isEqualTo("rwx------");
      assertThat(run.isFresh()).isTrue();
    }
    try (RunDirectory again = RunDirectory.open(folder)) {
      assertThat(again.isFresh()).isFalse();
    }
  }

  @Test
  void open_inUse_isRefused() throws Exception {
    try (RunDirectory _ = RunDirectory.open(temporary.resolve("run"))) {
      assertThatThrownBy(() -> RunDirectory.open(temporary.resolve("run")))
          .hasMessageContaining("in use by another server");
    }
  }

  @Test
  void open_symbolicLink_isRefused() throws Exception {
    Path real = Files.createDirectory(temporary.resolve("real"));
    Files.setPosixFilePermissions(real, PosixFilePermissions.fromString("rwx------"));
    Path link = Files.createSymbolicLink(temporary.resolve("link"), real);
    assertThatThrownBy(() -> RunDirectory.open(link)).hasMessageContaining("must be a folder");
  }

  @Test
  void open_lockIsASymbolicLink_isRefused() throws Exception {
    Path folder = temporary.resolve("run");
    RunDirectory.open(folder).close();
    Files.delete(folder.resolve("lock"));
    Path victim = Files.createFile(temporary.resolve("victim"));
    Files.createSymbolicLink(folder.resolve("lock"), victim);
    assertThatThrownBy(() -> RunDirectory.open(folder)).isInstanceOf(IOException.class);
  }

  @Test
  void open_othersMayEnter_isRefused() throws Exception {
    Path folder = Files.createDirectory(temporary.resolve("run"));
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
    assertThatThrownBy(() -> RunDirectory.open(folder)).hasMessageContaining("mode 700");
  }

  @Test
  void open_othersMayReplaceIt_isRefused() throws Exception {
    Path above = Files.createDirectory(temporary.resolve("above"));
    Files.setPosixFilePermissions(above, PosixFilePermissions.fromString("rwxrwxrwx"));
    assertThatThrownBy(() -> RunDirectory.open(above.resolve("run")))
        .hasMessageContaining("another user can replace it");
  }

  @Test
  void open_anotherUsers_isRefused() throws Exception {
    assumeThat(ProcessInfo.USER_ID).as("root, who can give folders away").isZero();
    Path folder = temporary.resolve("run");
    RunDirectory.open(folder).close();
    Files.setAttribute(folder, "unix:uid", NOBODY, LinkOption.NOFOLLOW_LINKS);
    assertThatThrownBy(() -> RunDirectory.open(folder)).hasMessageContaining("of this user");
  }

  @Test
  void open_pathTooLongForSockets_isRefused() {
    assertThatThrownBy(() -> RunDirectory.open(temporary.resolve("x".repeat(100))))
        .hasMessageContaining("too long a path");
  }

  @Test
  void deleteSocketsBut_some_keepsThoseAndOtherFiles() throws Exception {
    try (RunDirectory run = RunDirectory.open(temporary.resolve("run"))) {
      List<String> sockets = List.of(run.newSocket(), run.newSocket());
      for (String socket : sockets) {
        assertThat(RunDirectory.isSocket(socket)).isTrue();
        Files.createFile(run.file(socket));
      }
      run.deleteSocketsBut(Set.of(sockets.getFirst()));
      assertThat(run.file(sockets.getFirst())).exists();
      assertThat(run.file(sockets.getLast())).doesNotExist();
      assertThat(run.file("lock")).exists();
    }
  }

  @Test
  void usual_byUserAndState_areOfThatStateAlone() {
    assertThat(RunFolders.of("a", 0, Map.of()))
        .isEqualTo(RunFolders.of("a", 0, Map.of("XDG_RUNTIME_DIR", "/tmp")))
        .isNotEqualTo(RunFolders.of("b", 0, Map.of()))
        .first()
        .asString()
        .matches("/run/gpupool-server/[0-9a-f]{16}");
    assertThat(RunFolders.of("a", 7, Map.of("XDG_RUNTIME_DIR", temporary.toString())))
        .first()
        .asString()
        .startsWith(temporary + "/gpupool/");
    assertThat(RunFolders.of("a", 7, Map.of()))
        .singleElement()
        .asString()
        .startsWith("/dev/shm/gpupool-7/");
  }
}
