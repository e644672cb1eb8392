// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

/** An object of the chart is not there. */
public final class MissingObjectException extends RuntimeException {
  /** Says how it comes back. */
  public MissingObjectException(String what) {
    super(
        "there is no "
            + what
            + ": the chart creates it, and only the chart may; 'helm upgrade' brings it back");
  }
}
