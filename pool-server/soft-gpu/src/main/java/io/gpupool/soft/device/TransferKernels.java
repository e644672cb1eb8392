// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.exec.runtime.BlockRuntime.Box;
import io.gpupool.soft.exec.runtime.RuntimeCallException;
import io.gpupool.soft.nested.Child;
import io.gpupool.soft.nested.ChildKernels.Prepared;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.module.PtxModule;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

/**
 * Kernels that copy and fill for kernels, so that these accesses are checked, counted and ended
 * like all others of a kernel. Any thread may call it.
 */
public final class TransferKernels {
  private static final int THREADS = 128;
  private static final int MAX_BLOCKS = 64;
  private static final int PARAM_BYTES = 9 * Long.BYTES;

  /** Each thread moves every n-th element of the box, counted along rows, then slices. */
  private static final String PTX =
      """
      .version 7.0
      .target sm_52
      .address_size 64
      .visible .entry KERNEL(
        .param .u64 to, .param .u64 to_pitch, .param .u64 to_slice,
        .param .u64 from, .param .u64 from_pitch, .param .u64 from_slice,
        .param .u64 width, .param .u64 rows, .param .u64 slices)
      {
        .reg .pred %p;
        .reg .b32 %r<4>;
        .reg .b64 %i, %n, %step, %width, %rows, %x, %y, %z, %row, %a, %b, %t, %v;
        ld.param.u64 %width, [width];
        ld.param.u64 %rows, [rows];
        ld.param.u64 %n, [slices];
        mul.lo.u64 %n, %n, %rows;
        mul.lo.u64 %n, %n, %width;
        mov.u32 %r0, %ntid.x;
        mov.u32 %r1, %ctaid.x;
        mov.u32 %r2, %tid.x;
        mov.u32 %r3, %nctaid.x;
        mul.wide.u32 %step, %r0, %r3;
        mul.wide.u32 %i, %r0, %r1;
        cvt.u64.u32 %t, %r2;
        add.u64 %i, %i, %t;
        ld.param.u64 %v, [from];
      again:
        setp.ge.u64 %p, %i, %n;
        @%p ret;
        div.u64 %row, %i, %width;
        mul.lo.u64 %t, %row, %width;
        sub.u64 %x, %i, %t;
        mul.lo.u64 %x, %x, BYTES;
        div.u64 %z, %row, %rows;
        mul.lo.u64 %t, %z, %rows;
        sub.u64 %y, %row, %t;
        ld.param.u64 %a, [to];
        ld.param.u64 %t, [to_pitch];
        mad.lo.u64 %a, %t, %y, %a;
        ld.param.u64 %t, [to_slice];
        mad.lo.u64 %a, %t, %z, %a;
        add.u64 %a, %a, %x;
      LOAD
        st.global.bBITS [%a], %v;
        add.u64 %i, %i, %step;
        bra again;
      }
      """;

  private static final String LOAD =
      """
        ld.param.u64 %b, [from];
        ld.param.u64 %t, [from_pitch];
        mad.lo.u64 %b, %t, %y, %b;
        ld.param.u64 %t, [from_slice];
        mad.lo.u64 %b, %t, %z, %b;
        add.u64 %b, %b, %x;
        ld.global.bBITS %v, [%b];
      """;

  private final SoftGpu gpu;
  private final Map<String, CompiledKernel> kernels = new HashMap<>();

  TransferKernels(SoftGpu gpu) {
    this.gpu = gpu;
  }

  /** A copy of a box. */
  public Prepared copy(Box to, Box from) {
    return prepare(
        "memcpy", LOAD, to, new long[] {from.address(), from.pitchBytes(), sliceBytes(from)});
  }

  /** A fill with a byte. */
  public Prepared fill(Box to, int value) {
    return prepare("memset", "", to, new long[] {(value & 0xFFL) * 0x0101_0101_0101_0101L, 0, 0});
  }

  private static long sliceBytes(Box box) {
    return box.pitchBytes() * box.sliceRows();
  }

  private Prepared prepare(String name, String load, Box to, long[] source) {
    boolean reads = !load.isEmpty();
    long elements = elements(to);
    long places = to.address() | to.pitchBytes() | sliceBytes(to) | to.widthBytes();
    if (reads) {
      places |= source[0] | source[1] | source[2];
    }
    boolean wide = places % Long.BYTES == 0;
    int bytes = wide ? Long.BYTES : 1;
    long[] params = {
      to.address(),
      to.pitchBytes(),
      sliceBytes(to),
      source[0],
      source[1],
      source[2],
      to.widthBytes() / bytes,
      to.rows(),
      to.slices()
    };
    long blocks = Math.clamp((elements / bytes + THREADS - 1) / THREADS, 1, MAX_BLOCKS);
    Launch launch = new Launch(new Dim3((int) blocks), new Dim3(THREADS), 0, false);
    return new Prepared(
        new Child(kernel(name, load, bytes), launch, PARAM_BYTES), MemorySegment.ofArray(params));
  }

  private static long elements(Box box) {
    try {
      if (box.widthBytes() < 0 || box.rows() < 0 || box.slices() < 0) {
        throw new ArithmeticException("a negative extent");
      }
      return Math.multiplyExact(Math.multiplyExact(box.widthBytes(), box.rows()), box.slices());
    } catch (ArithmeticException e) {
      throw new RuntimeCallException(
          RuntimeCallException.INVALID_VALUE,
          box.widthBytes() + " x " + box.rows() + " x " + box.slices() + " bytes");
    }
  }

  private synchronized CompiledKernel kernel(String name, String load, int bytes) {
    return kernels.computeIfAbsent(
        name + bytes,
        kernel -> {
          String text =
              PTX.replace("LOAD\n", load)
                  .replace("KERNEL", kernel)
                  .replace("BYTES", Integer.toString(bytes))
                  .replace("BITS", Integer.toString(8 * bytes));
          try {
            return gpu.kernelCache().compile(PtxModule.parse(text, 52), kernel, Map.of());
          } catch (PtxException | CompileException e) {
            throw new IllegalStateException("the kernel " + kernel + " is in this class", e);
          }
        });
  }
}
