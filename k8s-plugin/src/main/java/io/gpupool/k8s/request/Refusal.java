// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

/**
 * A reason not to admit an object.
 *
 * @param sentence for people: where, what is wrong, and how to ask instead
 */
public record Refusal(Kind kind, String sentence) {
  /** The kinds of refusals. */
  public enum Kind {
    /** The object is not valid. */
    WRONG,
    /** The object is valid, and asks for something that cannot be had. */
    DENIED
  }
}
