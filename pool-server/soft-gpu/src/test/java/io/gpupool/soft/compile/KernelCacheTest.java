// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.cache.FileCache;
import io.gpupool.soft.exec.CompiledKernel;
import io.gpupool.soft.kernel.TestGpu;
import io.gpupool.soft.ptx.PtxModule;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KernelCacheTest {
  private static final long PLENTY = 1 << 20;

  @TempDir private Path temporary;

  /** A kernel that stores a number after a barrier, so that it has regions. */
  private static String storing(int number) {
    return """
    .version 7.0
    .target sm_75
    .address_size 64
    .visible .entry k(.param .u64 out)
    {
      .reg .b32 %%r<4>;
      .reg .b64 %%rd<4>;
      ld.param.u64 %%rd1, [out];
      mov.u32 %%r1, %%tid.x;
      mul.wide.u32 %%rd2, %%r1, 4;
      add.s64 %%rd3, %%rd1, %%rd2;
      bar.sync 0;
      st.global.u32 [%%rd3], %d;
      ret;
    }
    """
        .formatted(number);
  }

  private static PtxModule module(int number) throws Exception {
    return PtxModule.parse(storing(number), 90);
  }

  private static CompiledKernel compile(KernelCache cache, int number) throws Exception {
    return cache.compile(module(number), "k", Map.of());
  }

  /** What a kernel stores. */
  private static int run(CompiledKernel kernel) throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(storing(0))) {
      MemorySegment out = gpu.allocate(64 * 4L);
      gpu.install(kernel);
      gpu.run("k", TestGpu.blocks(1, 64), out);
      assertThat(out.getAtIndex(ValueLayout.JAVA_INT, 63))
          .isEqualTo(out.getAtIndex(ValueLayout.JAVA_INT, 0));
      return out.getAtIndex(ValueLayout.JAVA_INT, 0);
    }
  }

  private Path folder() {
    return temporary.resolve("a/kernels");
  }

  private List<Path> entries() throws IOException {
    try (Stream<Path> files = Files.list(folder())) {
      return files.toList();
    }
  }

  /** Puts the code of one kernel where that of another one is looked for. */
  private void misplace(int number, int lookedFor) throws Exception {
    new CacheFolder(new FileCache(folder(), PLENTY, CacheFolder.SUFFIX))
        .write(
            KernelCache.key(module(lookedFor), "k", Map.of()),
            KernelCompiler.translate(module(number), "k", Map.of()));
  }

  @Test
  void compiledKernel_isUsedByTheNextCache_andByNoOtherModule() throws Exception {
    misplace(5, 7);

    assertThat(run(compile(KernelCache.in(folder(), PLENTY), 7))).isEqualTo(5);
    assertThat(run(compile(KernelCache.in(folder(), PLENTY), 8))).isEqualTo(8);
    assertThat(run(compile(KernelCache.NONE, 7))).isEqualTo(7);
  }

  @Test
  void key_tellsAddressesAndDevicesApart() throws Exception {
    assertThat(KernelCache.key(module(7), "k", Map.of("v", 1L)))
        .isEqualTo(KernelCache.key(module(7), "k", Map.of("v", 1L)))
        .isNotEqualTo(KernelCache.key(module(7), "k", Map.of("v", 2L)))
        .isNotEqualTo(KernelCache.key(PtxModule.parse(storing(7), 80), "k", Map.of("v", 1L)));
  }

  @Test
  void entry_damagedOrCutOff_isMadeAnew() throws Exception {
    compile(KernelCache.in(folder(), PLENTY), 7);
    Path entry = entries().getFirst();
    byte[] whole = Files.readAllBytes(entry);
    for (int at = 0; at < whole.length; at += 157) {
      byte[] damaged = whole.clone();
      damaged[at] ^= 1;
      Files.write(entry, damaged);
      assertThat(run(compile(KernelCache.in(folder(), PLENTY), 7))).isEqualTo(7);
      assertThat(entry).hasBinaryContent(whole);
    }
    for (int length : new int[] {0, 1, 40, 64, whole.length - 1}) {
      Files.write(entry, java.util.Arrays.copyOf(whole, length));
      assertThat(run(compile(KernelCache.in(folder(), PLENTY), 7))).isEqualTo(7);
      assertThat(entry).hasBinaryContent(whole);
    }
    assertThat(entries()).containsExactly(entry);
  }

  @Test
  void entry_thatOthersMayWrite_isNotTrusted() throws Exception {
    misplace(5, 7);
    Path entry = entries().getFirst();
    Files.setPosixFilePermissions(entry, PosixFilePermissions.fromString("rw-rw-r--"));

    assertThat(run(compile(KernelCache.in(folder(), PLENTY), 7))).isEqualTo(7);
    // What was compiled instead has taken its place.
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(entry)))
        .isEqualTo("rw-------");
  }

  @Test
  void folder_thatOthersMayWrite_isLeftAlone() throws Exception {
    misplace(5, 7);
    Files.setPosixFilePermissions(folder(), PosixFilePermissions.fromString("rwxrwxrwx"));

    assertThat(run(compile(KernelCache.in(folder(), PLENTY), 7))).isEqualTo(7);
    assertThat(run(compile(KernelCache.in(folder(), PLENTY), 8))).isEqualTo(8);
    assertThat(entries()).hasSize(1);
  }

  @Test
  void folder_thatCannotBe_doesNoHarm() throws Exception {
    Path file = Files.writeString(temporary.resolve("file"), "no folder");

    assertThat(run(compile(KernelCache.in(file.resolve("kernels"), PLENTY), 7))).isEqualTo(7);
    assertThat(run(compile(KernelCache.in(Path.of("/proc/1/none"), PLENTY), 7))).isEqualTo(7);
    assertThat(run(compile(KernelCache.in(folder(), 10), 7))).isEqualTo(7);
    assertThat(folder()).doesNotExist();
  }

  @Test
  void tooManyEntries_thoseUsedLongAgoGoFirst() throws Exception {
    KernelCache cache = KernelCache.in(folder(), PLENTY);
    for (int number = 1; number <= 8; number++) {
      compile(cache, number);
    }
    List<Path> all = entries();
    long bytes = 0;
    for (int i = 0; i < all.size(); i++) {
      bytes += Files.size(all.get(i));
      Files.setLastModifiedTime(all.get(i), FileTime.fromMillis(1_000_000L * (i + 1)));
    }

    new FileCache(folder(), bytes * 3 / 4, CacheFolder.SUFFIX).clean();

    assertThat(entries()).containsExactlyInAnyOrderElementsOf(all.subList(4, 8));
  }

  @Test
  void environment_namesTheFolderOrTurnsItOff() throws Exception {
    compile(KernelCache.of(Map.of("HOME", temporary.toString())), 7);
    assertThat(temporary.resolve(".cache/gpupool/kernels")).isDirectory();
    compile(KernelCache.of(Map.of("XDG_CACHE_HOME", temporary + "/x", "HOME", "/none")), 7);
    assertThat(temporary.resolve("x/gpupool/kernels")).isDirectory();
    compile(KernelCache.of(Map.of(KernelCache.VARIABLE, temporary + "/named")), 7);
    assertThat(temporary.resolve("named")).isDirectory();
    assertThat(KernelCache.of(Map.of(KernelCache.VARIABLE, "off", "HOME", "/none")))
        .isSameAs(KernelCache.NONE);
    assertThat(KernelCache.of(Map.of())).isSameAs(KernelCache.NONE);
  }
}
