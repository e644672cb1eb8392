// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ShimFolderTest {
  @TempDir private Path folder;

  private Path source(String text) throws IOException {
    Path source = Files.createDirectories(folder.resolve("image"));
    Files.writeString(source.resolve("libcuda.so.1"), text);
    Files.deleteIfExists(source.resolve("libcuda.so"));
    Files.createSymbolicLink(source.resolve("libcuda.so"), Path.of("libcuda.so.1"));
    return source;
  }

  private static Object inode(Path file) throws IOException {
    return Files.getAttribute(file, "unix:ino");
  }

  @Test
  void libraries_newVersion_runningContainersKeepTheirs() throws IOException {
    Path target = folder.resolve("run/shim");
    new ShimFolder(target).fillFrom(source("old"));
    Path library = target.resolve("libcuda.so.1");
    try (InputStream mounted = Files.newInputStream(library)) {
      new ShimFolder(target).fillFrom(source("new"));
      assertThat(new String(mounted.readAllBytes(), StandardCharsets.UTF_8)).isEqualTo("old");
    }
    assertThat(library).hasContent("new");
    assertThat(target.resolve("libcuda.so")).isSymbolicLink().hasContent("new");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(library)))
        .isEqualTo("rwxr-xr-x");
  }

  @Test
  void libraries_sameVersion_stayAsTheyAre() throws IOException {
    Path target = folder.resolve("run/shim");
    new ShimFolder(target).fillFrom(source("same"));
    Object before = inode(target.resolve("libcuda.so.1"));
    Files.createFile(target.resolve(".new-left-behind"));
    new ShimFolder(target).fillFrom(source("same"));
    assertThat(inode(target.resolve("libcuda.so.1"))).isEqualTo(before);
    try (Stream<Path> files = Files.list(target)) {
      assertThat(files).hasSize(2);
    }
  }

  @Test
  void libraries_emptyFoldersInTheirPlace_areReplaced() throws IOException {
    Path target = folder.resolve("run/shim");
    Files.createDirectories(target.resolve("libcuda.so.1"));
    Files.createDirectories(target.resolve("libcuda.so"));
    new ShimFolder(target).fillFrom(source("text"));
    assertThat(target.resolve("libcuda.so.1")).isRegularFile().hasContent("text");
    assertThat(target.resolve("libcuda.so")).isSymbolicLink().hasContent("text");
  }

  @Test
  void libraries_folderWithSomethingInTheirPlace_saysWhatToDo() throws IOException {
    Path target = folder.resolve("run/shim");
    Path inTheWay = Files.createDirectories(target.resolve("libcuda.so.1/precious")).getParent();
    assertThatThrownBy(() -> new ShimFolder(target).fillFrom(source("text")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining(inTheWay + " is in the way: it is a folder with something in it")
        .hasMessageContaining("remove or repair it on the node");
    assertThat(inTheWay.resolve("precious")).exists();
  }

  @Test
  void folder_fileInItsPlace_saysWhatToDo() throws IOException {
    Path target = Files.writeString(folder.resolve("shim"), "x");
    assertThatThrownBy(() -> new ShimFolder(target).fillFrom(source("text")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining(target + " is in the way: it is no folder");
  }

  @Test
  void removal_leavesNothing() throws IOException {
    Path target = folder.resolve("run/shim");
    ShimFolder shim = new ShimFolder(target);
    shim.fillFrom(source("text"));
    shim.remove();
    assertThat(target).doesNotExist();
    shim.remove();
  }

  @Test
  void source_missing_saysWhichOptionNamesIt() {
    assertThatThrownBy(() -> new ShimFolder(folder).fillFrom(folder.resolve("nowhere")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("--shim-source");
  }
}
