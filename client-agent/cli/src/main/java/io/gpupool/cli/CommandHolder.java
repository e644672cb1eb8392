// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.control.v1.Holder;
import io.gpupool.runtime.ProcessInfo;

/** This process as the holder of a lease. */
public final class CommandHolder {
  private CommandHolder() {}

  /** Returns the holder of a lease for this program. */
  public static Holder of(String program) {
    return Holder.newBuilder()
        .setHost(ProcessInfo.HOST)
        .setPid(ProcessInfo.PID)
        .setProgram(program)
        .setUser(ProcessInfo.USER)
        .build();
  }
}
