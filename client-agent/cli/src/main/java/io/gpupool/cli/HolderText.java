// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.control.v1.Holder;

/** The text of a holder, such as {@code ann@pc 7 train}. */
final class HolderText {
  private HolderText() {}

  static String of(Holder holder) {
    return holder.getUser()
        + "@"
        + holder.getHost()
        + " "
        + holder.getPid()
        + " "
        + holder.getProgram();
  }
}
