// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The network namespace of this process, which is also that of its abstract unix sockets. Two
 * processes whose texts are equal are in the same one, on the same machine.
 */
public final class NetworkNamespace {
  /** The boot of the machine and the number of the namespace; empty: the kernel does not tell. */
  public static final String TEXT = text();

  private NetworkNamespace() {}

  private static String text() {
    try {
      return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip()
          + " "
          + Files.readSymbolicLink(Path.of("/proc/self/ns/net"));
    } catch (IOException e) {
      return "";
    }
  }
}
