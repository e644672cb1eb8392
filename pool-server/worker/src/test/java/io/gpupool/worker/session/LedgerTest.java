// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.cuda.Ops;
import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.os.TestFiles;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class LedgerTest {
  private static final long[] QUOTAS = {1000, 5000};

  @TempDir Path folder;

  private Path file() throws IOException {
    Path file = folder.resolve("ledger");
    if (!Files.exists(file)) {
      Files.write(file, new byte[(int) Ledger.sizeBytes(2)]);
    }
    return file;
  }

  /** Stays open: the mappings of a ledger are for ever, too. */
  private static ServerFile handed(Path file) throws IOException {
    return TestFiles.open(file);
  }

  private long word(int gpu, int index) throws IOException {
    return ByteBuffer.wrap(Files.readAllBytes(file()))
        .order(ByteOrder.LITTLE_ENDIAN)
        .getLong(8 * (65 * gpu + index));
  }

  @Test
  void reserve_beyondQuota_isRefusedAndNotCounted() throws IOException {
    Ledger ledger = Ledger.open(handed(file()), 3, QUOTAS);

    assertThat(ledger.reserve(1, 4000)).isTrue();
    assertThat(ledger.reserve(1, 1001)).isFalse();
    assertThat(ledger.reserve(1, -1)).isFalse();
    assertThat(ledger.reserve(1, Long.MAX_VALUE)).isFalse();

    assertThat(ledger.freeBytes(1)).isEqualTo(1000);
    assertThat(ledger.freeBytes(0)).isEqualTo(1000);
  }

  @Test
  void hostMemory_isBoundedForTheLease_andCountedApart() throws IOException {
    Ledger one = Ledger.open(handed(file()), 3, QUOTAS);
    Ledger other = Ledger.open(handed(file()), 4, QUOTAS);

    assertThat(one.reserveHost(1L << 30)).isTrue();
    assertThat(other.reserveHost(1L << 29)).isFalse();
    assertThat(word(2, 0)).isEqualTo(1L << 30);
    assertThat(one.freeBytes(1)).isEqualTo(5000);

    one.releaseHost(1L << 30);
    assertThat(other.reserveHost(1L << 29)).isTrue();
  }

  @Test
  void file_holdsTotalThenSlots() throws IOException {
    Ledger ledger = Ledger.open(handed(file()), 3, QUOTAS);
    ledger.reserve(1, 4000);
    ledger.release(1, 500);

    assertThat(word(1, 0)).isEqualTo(3500);
    assertThat(word(1, 1 + 3)).isEqualTo(3500);
    assertThat(word(0, 0)).isZero();
  }

  @Test
  void sessionsOfOneLease_atOnce_neverExceedTheQuota() throws Exception {
    AtomicLong highest = new AtomicLong();
    List<Thread> threads = new ArrayList<>();
    for (int slot = 0; slot < 4; slot++) {
      Ledger ledger = Ledger.open(handed(file()), slot, QUOTAS);
      threads.add(
          Thread.ofPlatform()
              .start(() -> {
                for (int i = 0; i < 100_000; i++) {
                  if (ledger.reserve(0, 300)) {
                    highest.accumulateAndGet(1000 - ledger.freeBytes(0), Math::max);
                    ledger.release(0, 300);
                  }
                }
              }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(highest.get()).isBetween(300L, 900L);
    assertThat(word(0, 0)).isZero();
    assertThat(word(0, 1)).isZero();
  }

  @Test
  void open_shortFileOrBadSlot_isRefused() throws IOException {
    Path tooShort = folder.resolve("short");
    Files.write(tooShort, new byte[10]);

    assertThatThrownBy(() -> Ledger.open(handed(tooShort), 0, QUOTAS))
        .hasMessageContaining("has 10 bytes, not 2600");
    assertThatThrownBy(() -> Ledger.open(handed(file()), 64, QUOTAS))
        .hasMessageContaining("slot 64");
  }

  @Test
  void twoSessionsOfALease_shareItsMemory() throws IOException {
    List<LeasedGpu> gpus = List.of(new LeasedGpu(0, 1 << 20, 50));
    long[] quota = {1 << 20};
    Path shared = folder.resolve("shared");
    Files.write(shared, new byte[(int) Ledger.sizeBytes(1)]);
    try (TestSession one =
            new TestSession(TestDriver.backend(), gpus, Ledger.open(handed(shared), 0, quota));
        TestSession other =
            new TestSession(TestDriver.backend(), gpus, Ledger.open(handed(shared), 1, quota))) {
      one.retainContext();
      other.retainContext();
      long address = one.allocate(700 << 10);

      assertThat(other.call(Ops.memAlloc, 400 << 10, 1).result()).isEqualTo(2);
      assertThat(other.call(Ops.memAllocPitch, 1000, 500, 4, 1, 1).result()).isEqualTo(2);
      assertThat(other.call(Ops.memAllocAsync, 400 << 10, 0, 0, 1).result()).isEqualTo(2);
      Answer info = other.call(Ops.memGetInfo, 1, 1);
      assertThat(info.u64(0)).isEqualTo((1 << 20) - (700 << 10));
      assertThat(info.u64(8)).isEqualTo(1 << 20);
      one.post(Ops.memFree, address);
      assertThat(one.call(Ops.ctxSynchronize).result()).isZero();
      assertThat(other.call(Ops.memAllocAsync, 1000, 1, 0, 1).result()).isZero();
      long pitched = other.call(Ops.memAllocPitch, 1000, 500, 4, 1, 1).u64(8);
      assertThat(pitched).isEqualTo(1024);
    }
  }
}
