// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.lowering;

import io.gpupool.soft.compile.ir.VReg;
import java.util.Map;

/** The place of a non-global variable of one function instance. */
sealed interface Placement {
  /** Its pieces, by byte offset, live in registers. */
  record InRegisters(Map<Long, VReg> pieces) implements Placement {}

  /** At this address of the thread's local memory. */
  record InLocal(long address) implements Placement {}

  /** Among the parameters and results in the frame of a function that is not inlined. */
  record InFrame(int offset) implements Placement {}

  /** At this offset of the kernel's parameter block. */
  record InParams(long offset) implements Placement {}

  /** At this address of the block's shared memory. */
  record InShared(long address) implements Placement {}
}
