// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

/**
 * The abilities of a program on its call streams.
 *
 * @param seals whether it can seal them
 * @param sharesMemory whether it can share memory with a worker of its own machine, to which a unix
 *     socket connects it
 */
public record StreamAbilities(boolean seals, boolean sharesMemory) {
  public static final StreamAbilities NONE = new StreamAbilities(false, false);

  /** Returns the same for who connects the program by TCP in any case. */
  public StreamAbilities overTcp() {
    return new StreamAbilities(seals, false);
  }
}
