// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

import java.util.Set;

/** Functions that device code may call without anybody defining them in PTX. */
public final class DeviceFunctions {
  /** {@code (u64 handle, u32 value)}: gives a condition of a graph its value. */
  public static final String SET_CONDITION = "cudaGraphSetConditional";

  /** Tells of an assertion that failed, and does not return. */
  public static final String ASSERT_FAIL = "__assertfail";

  private static final Set<String> PROVIDED =
      Set.of("vprintf", ASSERT_FAIL, "malloc", "free", SET_CONDITION);

  private DeviceFunctions() {}

  /** Whether this device provides a function. */
  public static boolean isProvided(String name) {
    return PROVIDED.contains(name) || RuntimeFunction.named(name).isPresent();
  }

  /**
   * Whether a function is of the device runtime, for which launches from kernels are made. A kernel
   * that calls one is refused when it is compiled, so that others of its module can run.
   */
  public static boolean isOfRuntime(String name) {
    return name.startsWith("cuda") || name.startsWith("__cuda");
  }
}
