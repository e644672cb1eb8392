// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

/** The failure to find an object that the chart creates. */
public final class MissingObjectException extends RuntimeException {
  /** Names the missing object and says how it comes back. */
  public MissingObjectException(String what) {
    super(
        "there is no "
            + what
            + ": the chart creates it, and only the chart may; 'helm upgrade' brings it back");
  }
}
