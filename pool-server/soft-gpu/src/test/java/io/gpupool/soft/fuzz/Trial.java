// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import io.gpupool.soft.compile.SmallMethods;
import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.kernel.TestGpu;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.module.PtxModule;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/** Runs generated kernels both ways and compares what they leave in memory. */
final class Trial {
  /** A kernel that is run otherwise than it is interpreted; {@code at} says where that shows. */
  record Difference(Program program, String at) {}

  private static final long DEVICE_BYTES = 8 << 20;

  /** Kernels that were too long to be interpreted, since the start. */
  int endless;

  private final boolean smallMethods;

  /**
   * A trial.
   *
   * @param smallMethods whether compiled kernels are cut into many JVM methods
   */
  Trial(boolean smallMethods) {
    this.smallMethods = smallMethods;
  }

  /** Runs kernels as one module; returns those that differ. */
  List<Difference> run(List<Program> programs) throws PtxException {
    StringBuilder text = new StringBuilder(Program.PREAMBLE);
    programs.forEach(program -> text.append(program.text()));
    List<Difference> differences = new ArrayList<>();
    try (TestGpu gpu = TestGpu.withPtx(text.toString(), DEVICE_BYTES)) {
      for (Program program : programs) {
        run(gpu, program).ifPresent(at -> differences.add(new Difference(program, at)));
      }
    }
    return differences;
  }

  /** The input: bits of any kind, then numbers of note. */
  private static byte[] input() {
    Grammar grammar = new Grammar(new Random(1));
    ByteBuffer bytes =
        ByteBuffer.allocate(KernelGenerator.INPUT_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    while (bytes.position() < 2048) {
      bytes.putInt((int) grammar.whole());
    }
    while (bytes.hasRemaining()) {
      if (grammar.chance(0.5)) {
        bytes.putInt(grammar.single());
        bytes.putInt(grammar.single());
      } else {
        bytes.putLong(grammar.number());
      }
    }
    return bytes.array();
  }

  private static byte[] filled(int bytes) {
    byte[] filled = new byte[bytes];
    new Random(bytes).nextBytes(filled);
    return filled;
  }

  private Optional<String> run(TestGpu gpu, Program program) {
    byte[] input = input();
    byte[] output = filled(program.threads() * KernelGenerator.SLOT_BYTES);
    byte[] common = filled(KernelGenerator.COMMON_BYTES);
    byte[] struct = filled(16);
    MemorySegment in = copied(gpu, input);
    MemorySegment out = copied(gpu, output);
    MemorySegment atom = copied(gpu, common);
    try {
      interpret(gpu.module(), program, input, output, common, struct);
    } catch (SlowThread.EndlessKernelException e) {
      endless++;
      return Optional.empty();
    } catch (IllegalStateException e) {
      throw new IllegalStateException(program.name() + " is not valid", e);
    }
    try {
      if (smallMethods) {
        gpu.install(SmallMethods.compile(gpu.module(), program.name(), gpu.globalAddresses()));
      }
      gpu.run(program.name(), program.launch(), in, out, atom, 12345, struct);
    } catch (KernelFaultException | CompileException | RuntimeException | LinkageError e) {
      return Optional.of("does not run: " + e);
    }
    Optional<String> differs = compare("output", output, out);
    return differs.isPresent() ? differs : compare("common words", common, atom);
  }

  private static MemorySegment copied(TestGpu gpu, byte[] bytes) {
    MemorySegment segment = gpu.allocate(bytes.length);
    segment.copyFrom(MemorySegment.ofArray(bytes));
    return segment;
  }

  private static void interpret(
      PtxModule module,
      Program program,
      byte[] input,
      byte[] output,
      byte[] common,
      byte[] struct) {
    SlowGrid grid = new SlowGrid(module, program.launch());
    ByteBuffer params =
        ByteBuffer.allocate(KernelGenerator.PARAM_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    params.putLong(grid.memory().add(input));
    params.putLong(grid.memory().add(output));
    params.putLong(grid.memory().add(common));
    params.putInt(12345).putInt(0).put(struct);
    grid.run(program.name(), params.array());
  }

  private static Optional<String> compare(String what, byte[] expected, MemorySegment actual) {
    byte[] got = actual.toArray(ValueLayout.JAVA_BYTE);
    for (int i = 0; i < got.length; i++) {
      if (got[i] != expected[i]) {
        int word = i & -4;
        return Optional.of(
            "%s, thread %d, offset %d: compiled 0x%08x, interpreted 0x%08x"
                .formatted(
                    what,
                    word / KernelGenerator.SLOT_BYTES,
                    word % KernelGenerator.SLOT_BYTES,
                    ByteBuffer.wrap(got).order(ByteOrder.LITTLE_ENDIAN).getInt(word),
                    ByteBuffer.wrap(expected).order(ByteOrder.LITTLE_ENDIAN).getInt(word)));
      }
    }
    return Optional.empty();
  }
}
