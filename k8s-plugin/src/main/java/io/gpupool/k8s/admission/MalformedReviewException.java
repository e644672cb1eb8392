// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

/** The failure to read an AdmissionReview: there is no review to answer. The message says why. */
public final class MalformedReviewException extends Exception {
  MalformedReviewException(String message) {
    super(message, null, false, false);
  }
}
