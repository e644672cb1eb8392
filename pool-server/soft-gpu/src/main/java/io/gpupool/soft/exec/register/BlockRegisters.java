// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.register;

import io.gpupool.soft.exec.block.ThreadBlock;

/** The special registers that are the same in all threads of a block. Called by generated code. */
public final class BlockRegisters {
  private BlockRegisters() {}

  public static int smid(ThreadBlock block) {
    return block.worker();
  }

  public static int nsmid(ThreadBlock block) {
    return block.workers();
  }

  public static int nwarpid(ThreadBlock block) {
    return block.threads() + ThreadBlock.WARP - 1 >> 5;
  }

  public static int dynamicSharedBytes(ThreadBlock block) {
    return block.dynamicSharedBytes();
  }

  /** Returns where the shared memory of cooperative groups begins, which is there from now on. */
  public static int reservedSharedStart(ThreadBlock block) {
    return block.reservedSharedStart();
  }

  public static int reservedSharedEnd(ThreadBlock block) {
    return block.reservedSharedEnd();
  }

  /** Returns a register; 1 and 2 hold the upper and the lower half of the workspace's address. */
  public static int envreg(ThreadBlock block, int index) {
    long workspace = block.services().gridWorkspace();
    return switch (index) {
      case 1 -> (int) (workspace >>> 32);
      case 2 -> (int) workspace;
      default -> 0;
    };
  }
}
