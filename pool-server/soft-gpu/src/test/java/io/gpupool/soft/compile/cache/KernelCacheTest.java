// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.compile.KernelCompiler;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.kernel.TestGpu;
import io.gpupool.soft.ptx.module.PtxModule;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;

class KernelCacheTest {
  private final MapStore store = new MapStore();

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

  /** Puts the code of one kernel where that of another one is looked for. */
  private void misplace(int number, int lookedFor) throws Exception {
    new KernelEntries(store)
        .write(
            KernelCache.key(module(lookedFor), "k", Map.of()),
            KernelCompiler.translate(module(number), "k", Map.of()));
  }

  @Test
  void compiledKernel_isUsedByTheNextCache_andByNoOtherModule() throws Exception {
    misplace(5, 7);

    assertThat(run(compile(KernelCache.on(store), 7))).isEqualTo(5);
    assertThat(run(compile(KernelCache.on(store), 8))).isEqualTo(8);
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
    compile(KernelCache.on(store), 7);
    Map.Entry<String, byte[]> entry = store.entries().entrySet().iterator().next();
    byte[] whole = entry.getValue();
    for (int at = 0; at < whole.length; at += 157) {
      byte[] damaged = whole.clone();
      damaged[at] ^= 1;
      store.entries().put(entry.getKey(), damaged);
      assertThat(run(compile(KernelCache.on(store), 7))).isEqualTo(7);
      assertThat(store.entries().get(entry.getKey())).isEqualTo(whole);
    }
    for (int length : new int[] {0, 1, 40, 64, whole.length - 1}) {
      store.entries().put(entry.getKey(), Arrays.copyOf(whole, length));
      assertThat(run(compile(KernelCache.on(store), 7))).isEqualTo(7);
      assertThat(store.entries().get(entry.getKey())).isEqualTo(whole);
    }
    assertThat(store.entries()).hasSize(1);
  }

  @Test
  void storeThatKeepsNothing_doesNoHarm() throws Exception {
    assertThat(run(compile(KernelCache.on(KernelStore.NONE), 7))).isEqualTo(7);
  }
}
