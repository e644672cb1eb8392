// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import io.gpupool.k8s.request.Refusal;
import java.util.List;

/** The denial of an object. */
final class DeniedException extends Exception {
  private final transient List<Refusal> refusals;

  DeniedException(List<Refusal> refusals) {
    super(null, null, false, false);
    this.refusals = List.copyOf(refusals);
  }

  /** Returns a denial of an object that is not valid. */
  static DeniedException wrong(String sentence) {
    return new DeniedException(List.of(new Refusal(Refusal.Kind.WRONG, sentence)));
  }

  /** Returns a denial of a valid object that asks for something that cannot be had. */
  static DeniedException denied(String sentence) {
    return new DeniedException(List.of(new Refusal(Refusal.Kind.DENIED, sentence)));
  }

  List<Refusal> refusals() {
    return refusals;
  }
}
