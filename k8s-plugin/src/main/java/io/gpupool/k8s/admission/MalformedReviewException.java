// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

/** What came is no AdmissionReview, so that there is nobody to answer; the message says why. */
public final class MalformedReviewException extends Exception {
  MalformedReviewException(String message) {
    super(message, null, false, false);
  }
}
