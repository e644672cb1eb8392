// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

/** A kernel ready to run; immutable. Dropping it lets its class unload. */
public final class CompiledKernel {
  private final String name;

  CompiledKernel(String name) {
    this.name = name;
  }

  /** The kernel's PTX name. */
  public String name() {
    return name;
  }
}
