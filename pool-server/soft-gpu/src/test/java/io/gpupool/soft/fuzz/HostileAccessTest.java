// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.launch.ClusterShape;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.kernel.TestGpu;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.instruction.InstructionForm;
import io.gpupool.soft.ptx.instruction.InstructionForms;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Every form that touches memory, with hostile addresses, constants, sizes and lanes that have
 * ended: it is refused, faults or stays in the device's memory. What lies beside that is filled
 * with one byte, which may neither change nor come to where the kernel writes its results; a crash
 * of the process fails the test, too. {@code -Dgpupool.fuzz.hostile=N} tries more of each form,
 * {@code -Dgpupool.fuzz.seed=N} others.
 */
@Timeout(3600)
class HostileAccessTest {
  private static final int EACH = Integer.getInteger("gpupool.fuzz.hostile", 3);
  private static final long SEED = Long.getLong("gpupool.fuzz.seed", 1);
  private static final int SECRET_BYTES = 4096;
  private static final int OUT_BYTES = 1024;

  /** Windows of 4 GiB, below the device's memory, where generic addresses of other spaces lie. */
  private static final List<Long> WINDOWS = List.of(0x0100L << 32, 0x0101L << 32, 0x0102L << 32);

  private int refused;
  private int faulted;
  private int ran;
  private final Set<String> executed = new HashSet<>();

  @Test
  void form_withHostileNumbers_staysInTheDevicesMemory() throws Exception {
    Random random = new Random(SEED);
    for (InstructionForm form : InstructionForms.all()) {
      if (HostileForm.OPCODES.contains(form.opcode())
          && form.status() != InstructionForm.Status.REFUSED) {
        for (int i = 0; i < EACH; i++) {
          tryOut(new HostileForm(form, random), random);
        }
      }
    }
    int all = refused + faulted + ran;
    assertThat(all).isGreaterThan(200);
    assertThat(faulted).as("of %d, faulted", all).isGreaterThan(all / 3);
    assertThat(ran).as("of %d, ran", all).isGreaterThan(all / 50);
    assertThat(executed).as("opcodes that faulted or ran").containsAll(HostileForm.OPCODES);
  }

  private void tryOut(HostileForm form, Random random) throws Exception {
    String ptx = form.kernel();
    try (Arena arena = Arena.ofConfined();
        TestGpu gpu = TestGpu.withPtx(ptx, 1 << 20)) {
      MemorySegment secret = arena.allocate(SECRET_BYTES, 512).fill(TestGpu.GUARD);
      MemorySegment out = gpu.allocate(OUT_BYTES);
      long address = hostile(gpu, secret, out, random);
      long number = random.nextBoolean() ? random.nextLong() : random.nextInt(64) * 16L;
      String what = form.name() + " at 0x" + Long.toHexString(address) + "\n" + ptx;
      try {
        gpu.kernel("k");
      } catch (IllegalStateException e) {
        refused++;
        return;
      }
      executed.add(form.name().substring(0, form.name().indexOf('.')));
      try {
        gpu.run("k", launch(random), out, address, number);
        ran++;
      } catch (KernelFaultException e) {
        assertThat(e.getMessage()).as("%s", what).doesNotContain("java.lang.Internal");
        faulted++;
      }
      for (MemorySegment guard : gpu.guards()) {
        assertThat(isWhole(guard)).as("guard beside the memory after %s", what).isTrue();
      }
      assertThat(isWhole(secret)).as("memory of the process after %s", what).isTrue();
      if (!hasGuardByte(out.address()) && !hasGuardByte(address) && !hasGuardByte(number)) {
        assertThat(out.toArray(ValueLayout.JAVA_BYTE)).as("%s", what).doesNotContain(TestGpu.GUARD);
      }
    } catch (PtxException e) {
      refused++;
    }
  }

  private static Launch launch(Random random) {
    int threads = random.nextBoolean() ? 32 : 64;
    return random.nextInt(3) == 0
        ? new Launch(new Dim3(2), new Dim3(threads), 0, false, new ClusterShape(2, 1, 1, true))
        : TestGpu.blocks(1, threads);
  }

  private static boolean isWhole(MemorySegment guard) {
    byte[] expected = new byte[(int) guard.byteSize()];
    Arrays.fill(expected, TestGpu.GUARD);
    return guard.mismatch(MemorySegment.ofArray(expected)) < 0;
  }

  /** Addresses that stand in registers may have such a byte themselves. */
  private static boolean hasGuardByte(long number) {
    for (byte b : ByteBuffer.allocate(8).putLong(number).array()) {
      if (b == TestGpu.GUARD) {
        return true;
      }
    }
    return false;
  }

  private static long hostile(TestGpu gpu, MemorySegment secret, MemorySegment out, Random random) {
    long around = 16L * (random.nextInt(9) - 4) + (random.nextInt(8) == 0 ? 4 : 0);
    MemorySegment below = gpu.guards().getFirst();
    MemorySegment above = gpu.guards().getLast();
    return switch (random.nextInt(12)) {
      case 0 -> secret.address() + 1024 + around;
      case 1 -> below.address() + below.byteSize() + around;
      case 2 -> above.address() + around;
      case 3 -> below.address() + 512;
      case 4 -> out.address() + OUT_BYTES + around;
      case 5 -> WINDOWS.get(random.nextInt(3)) + random.nextInt(1100);
      case 6 -> WINDOWS.get(random.nextInt(3)) + (1L << 32) + around;
      case 7 -> 1000 + around + ((long) random.nextInt(4) << 24);
      case 8 -> random.nextLong();
      case 9 -> out.address() + around;
      case 10 -> List.of(0L, -1L, -16L, Long.MIN_VALUE, Long.MAX_VALUE - 15).get(random.nextInt(5));
      default -> around;
    };
  }
}
