// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

import java.time.Duration;

/**
 * The validity periods of certificates. Each certificate is replaced after two thirds of its
 * period.
 *
 * @param root of the authority
 * @param leaf of a service
 * @param overlap how long everyone knows a new root before it signs anything
 */
public record Lifetimes(Duration root, Duration leaf, Duration overlap) {
  private static final Duration LONGEST_OVERLAP = Duration.ofDays(1);

  /**
   * Throws {@link IllegalArgumentException} for periods that are not positive or an overlap that is
   * too long.
   */
  public Lifetimes {
    if (!root.isPositive() || !leaf.isPositive() || overlap.isNegative()) {
      throw new IllegalArgumentException("a certificate's life must be longer than nothing");
    }
    if (overlap.multipliedBy(4).compareTo(root) > 0) {
      throw new IllegalArgumentException(
          "roots cannot overlap for " + overlap + ", over a quarter of their life of " + root);
    }
  }

  /** Returns lifetimes with an overlap of a day, or less if the root's life is short. */
  public static Lifetimes ofDays(int root, int leaf) {
    Duration life = Duration.ofDays(root);
    Duration overlap = life.dividedBy(10);
    return new Lifetimes(
        life,
        Duration.ofDays(leaf),
        overlap.compareTo(LONGEST_OVERLAP) < 0 ? overlap : LONGEST_OVERLAP);
  }
}
