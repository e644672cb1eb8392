// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import java.util.Map;

/**
 * The bond to the process that started this one: the kernel kills this process when that one ends.
 * Belongs to the thread that ties it, which has to live as long as the bond.
 */
public final class ParentBond {
  private static final String PARENT = "GPUPOOL_PARENT";
  private static final int SIGKILL = 9;

  private boolean tied;

  private ParentBond(boolean tied) {
    this.tied = tied;
  }

  /**
   * Ties this process to its parent, if the launcher has left that to it.
   *
   * @throws IllegalStateException if the parent has ended already
   */
  public static ParentBond tie(Map<String, String> environment) {
    String parent = environment.get(PARENT);
    if (parent == null) {
      return new ParentBond(false);
    }
    int error = Posix.signalAtParentsEnd(SIGKILL);
    if (error != 0) {
      throw new IllegalStateException("the bond to process " + parent + ": error " + -error);
    }
    if (Posix.parent() != Integer.parseInt(parent)) {
      throw new IllegalStateException("process " + parent + ", which started this one, has ended");
    }
    return new ParentBond(true);
  }

  /** Lets this process outlive its parent from now on. */
  public void cut() {
    if (tied) {
      int error = Posix.signalAtParentsEnd(0);
      if (error != 0) {
        throw new IllegalStateException("the bond to the parent stays: error " + -error);
      }
      tied = false;
    }
  }
}
