// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

import java.util.List;

/** One parsed and checked PTX translation unit; immutable, usable from any thread. */
public final class PtxModule {
  private final List<KernelInfo> kernels;
  private final List<GlobalVariable> globals;

  private PtxModule(List<KernelInfo> kernels, List<GlobalVariable> globals) {
    this.kernels = List.copyOf(kernels);
    this.globals = List.copyOf(globals);
  }

  /**
   * Parses PTX text.
   *
   * @param computeCapability of the device, 10 * major + minor; a higher {@code .target} is refused
   * @throws PtxException on the first error
   */
  public static PtxModule parse(String text, int computeCapability) throws PtxException {
    throw new PtxException(1, 1, "no PTX front end is present");
  }

  /** The {@code .entry} functions in source order. */
  public List<KernelInfo> kernels() {
    return kernels;
  }

  /** Global and constant variables of module scope, {@code .extern} ones included. */
  public List<GlobalVariable> globals() {
    return globals;
  }
}
