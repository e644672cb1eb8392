// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

/**
 * A PTX state space, as far as memory operands name one; {@link #GENERIC} is the absence of one.
 */
public enum Space {
  GENERIC,
  GLOBAL,
  SHARED,
  LOCAL,
  CONST,
  PARAM
}
