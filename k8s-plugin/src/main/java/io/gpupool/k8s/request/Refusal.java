// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

/**
 * A reason not to admit an object.
 *
 * @param sentence for people: where, what is wrong, and how to ask instead
 */
public record Refusal(Kind kind, String sentence) {
  /** Whose matter it is. */
  public enum Kind {
    /** It is written wrongly. */
    WRONG,
    /** It is understood, and not to be had. */
    DENIED
  }
}
