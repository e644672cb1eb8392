// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.cache;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileCacheTest {
  private static final long PLENTY = 1 << 20;
  private static final String SUFFIX = ".kept";

  @TempDir private Path temporary;

  private Path folder() {
    return temporary.resolve("a/kept");
  }

  private FileCache cache() {
    return new FileCache(folder(), PLENTY, SUFFIX);
  }

  private static byte[] key(int number) {
    byte[] key = new byte[32];
    key[0] = (byte) number;
    return key;
  }

  private void put(FileCache cache, int number, String content) throws IOException {
    Path source = Files.writeString(temporary.resolve("source"), content);
    try (FileChannel channel = FileChannel.open(source)) {
      cache.put(key(number), channel);
    }
  }

  private List<Path> entries() throws IOException {
    try (Stream<Path> files = Files.list(folder())) {
      return files.toList();
    }
  }

  @Test
  void file_thatWasPut_isFoundByItsKeyAlone() throws IOException {
    put(cache(), 1, "one");

    assertThat(cache().find(key(1)).orElseThrow()).hasContent("one");
    assertThat(cache().find(key(2))).isEmpty();
  }

  @Test
  void file_thatOthersMayWrite_isNotTrustedAndReplaced() throws IOException {
    put(cache(), 1, "one");
    Path entry = entries().getFirst();
    Files.setPosixFilePermissions(entry, PosixFilePermissions.fromString("rw-rw-r--"));
    assertThat(cache().find(key(1))).isEmpty();

    put(cache(), 1, "two");

    assertThat(cache().find(key(1)).orElseThrow()).hasContent("two");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(entry)))
        .isEqualTo("rw-------");
  }

  @Test
  void folder_thatOthersMayWrite_isLeftAlone() throws IOException {
    put(cache(), 1, "one");
    Files.setPosixFilePermissions(folder(), PosixFilePermissions.fromString("rwxrwxrwx"));
    put(cache(), 2, "two");

    assertThat(cache().find(key(1))).isEmpty();
    assertThat(entries()).hasSize(1);
  }

  @Test
  void folder_thatCannotBe_keepsNothing() throws IOException {
    Path file = Files.writeString(temporary.resolve("file"), "no folder");
    FileCache impossible = new FileCache(file.resolve("kept"), PLENTY, SUFFIX);
    put(impossible, 1, "one");
    FileCache tooSmall = new FileCache(folder(), 2, SUFFIX);
    put(tooSmall, 1, "one");

    assertThat(impossible.find(key(1))).isEmpty();
    assertThat(tooSmall.find(key(1))).isEmpty();
    assertThat(folder()).doesNotExist();
  }

  @Test
  void tooManyFiles_thoseUsedLongAgoGoFirst() throws IOException {
    for (int number = 1; number <= 8; number++) {
      put(cache(), number, "12345678");
    }
    List<Path> all = entries();
    for (int i = 0; i < all.size(); i++) {
      Files.setLastModifiedTime(all.get(i), FileTime.fromMillis(1_000_000L * (i + 1)));
    }

    new FileCache(folder(), 48, SUFFIX).clean();

    assertThat(entries()).containsExactlyInAnyOrderElementsOf(all.subList(4, 8));
  }

  @Test
  void environment_namesTheFolderOrTurnsItOff() {
    assertThat(folder(Map.of("HOME", "/home/u"))).contains("/home/u/.cache/gpupool/kernels");
    assertThat(folder(Map.of("XDG_CACHE_HOME", "/x", "HOME", "/home/u")))
        .contains("/x/gpupool/kernels");
    assertThat(folder(Map.of("V", "/named", "HOME", "/home/u"))).contains("/named");
    assertThat(folder(Map.of("V", "off", "HOME", "/home/u"))).isEmpty();
    assertThat(folder(Map.of())).isEmpty();
  }

  private static Optional<String> folder(Map<String, String> environment) {
    return FileCache.folder(environment, "V", "kernels").map(Path::toString);
  }
}
