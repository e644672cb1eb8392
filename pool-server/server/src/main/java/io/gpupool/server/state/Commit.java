// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

/** The outcome of a commit. */
public sealed interface Commit {
  record Done(long revision) implements Commit {}

  /** A condition did not hold; nothing was changed. */
  record Conflict(String key) implements Commit {}
}
