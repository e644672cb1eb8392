// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

/** An exception that carries a refusal to where all of a pod's refusals are collected. */
final class RefusedException extends Exception {
  private final transient Refusal refusal;

  private RefusedException(Refusal refusal) {
    super(refusal.sentence(), null, false, false);
    this.refusal = refusal;
  }

  static RefusedException wrong(String sentence) {
    return new RefusedException(new Refusal(Refusal.Kind.WRONG, sentence));
  }

  Refusal refusal() {
    return refusal;
  }
}
