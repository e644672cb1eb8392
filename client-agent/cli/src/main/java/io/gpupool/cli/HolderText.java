// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.control.v1.Holder;

/** The text of a holder, such as {@code ann@pc 7 train}. */
public final class HolderText {
  private HolderText() {}

  public static String of(Holder holder) {
    return holder.getUser()
        + "@"
        + holder.getHost()
        + " "
        + holder.getPid()
        + " "
        + holder.getProgram();
  }
}
