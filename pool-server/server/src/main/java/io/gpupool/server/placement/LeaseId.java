// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

/** The name of a lease, for example {@code L12}. Not a secret. */
public record LeaseId(String text) {
  @Override
  public String toString() {
    return text;
  }
}
