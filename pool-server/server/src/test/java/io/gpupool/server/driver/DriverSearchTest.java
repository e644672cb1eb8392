// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.driver;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DriverSearchTest {
  private static final String LIBRARY = "libcuda.so.1";

  @TempDir private Path root;
  private DriverSearch search;

  @BeforeEach
  void makeCache() throws IOException {
    cache("libc.so.6");
    search = new DriverSearch(root);
  }

  @Test
  void library_nowhere_isNotFoundAndThePathStaysAsItIs() {
    assertThat(search.mayFind(null, "/x")).isFalse();
    assertThat(search.libraryPath("/x")).contains("/x");
    assertThat(search.libraryPath(null)).isEmpty();
  }

  @Test
  void library_named_isTakenAsThere() {
    assertThat(search.mayFind(root, null)).isTrue();
  }

  @Test
  void library_onThePath_isFound() throws IOException {
    Files.createFile(root.resolve(LIBRARY));
    assertThat(search.mayFind(null, "/x:" + root)).isTrue();
  }

  @Test
  void library_inTheLinkersCache_isFound() throws IOException {
    cache(LIBRARY);
    assertThat(search.mayFind(null, null)).isTrue();
  }

  @Test
  void cache_absent_leavesItToTheLinker() throws IOException {
    Files.delete(root.resolve("etc/ld.so.cache"));
    assertThat(search.mayFind(null, null)).isTrue();
    assertThat(search.libraryPath(null)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"usr/lib", "lib64"})
  void library_inAFolderOfTheLinker_isFoundWithoutAPath(String folder) throws IOException {
    put(folder);
    assertThat(search.mayFind(null, null)).isTrue();
    assertThat(search.libraryPath(null)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"usr/local/nvidia/lib64", "run/nvidia/driver/usr/lib64", "usr/lib/wsl/lib"})
  void library_whereContainersHaveIt_isPutOnThePath(String folder) throws IOException {
    put(folder);
    String added = root.resolve(folder).toString();
    assertThat(search.mayFind(null, null)).isTrue();
    assertThat(search.libraryPath(null)).contains(added);
    assertThat(search.libraryPath("")).contains(added);
    assertThat(search.libraryPath("/x:/y")).contains("/x:/y:" + added);
  }

  private void put(String folder) throws IOException {
    Files.createFile(Files.createDirectories(root.resolve(folder)).resolve(LIBRARY));
  }

  private void cache(String library) throws IOException {
    Files.createDirectories(root.resolve("etc"));
    Files.writeString(root.resolve("etc/ld.so.cache"), "glibc-ld.so.cache1.1\0" + library + "\0");
  }
}
