// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import java.util.Arrays;
import java.util.Optional;

/** A layer around workers, under the name that the launcher gives it. */
enum SandboxLayer {
  PRIVILEGES(
      "privileges", true, "a worker that is broken into keeps the capabilities of the server"),
  USER(
      "user",
      true,
      "workers are the same user as the server: only the other layers keep one that is broken into"
          + " from the server's files and from other workers"),
  FILES("files", true, "a worker that is broken into reads and writes all files of its user"),
  CALLS(
      "calls",
      true,
      "a worker that is broken into may make every system call: start programs, open connections"),
  NETWORK_NAMESPACE(
      "network-namespace", false, "the filter of system calls alone keeps workers off the network");

  private final String text;

  /** Whether nothing else stands where it is missing. */
  final boolean alone;

  final String consequence;

  SandboxLayer(String text, boolean alone, String consequence) {
    this.text = text;
    this.alone = alone;
    this.consequence = consequence;
  }

  static Optional<SandboxLayer> of(String text) {
    return Arrays.stream(values()).filter(layer -> layer.text.equals(text)).findFirst();
  }

  @Override
  public String toString() {
    return text;
  }
}
