// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.api;

/** The one-line reasons of failures. */
public final class Failures {
  private static final int MAX_CAUSES = 5;

  private Failures() {}

  /**
   * Returns the messages of a failure and its causes, each once: fabric8 has the reason in a cause.
   */
  public static String reason(Throwable failure) {
    StringBuilder reason = new StringBuilder(text(failure));
    Throwable cause = failure.getCause();
    for (int i = 0; cause != null && i < MAX_CAUSES; i++) {
      if (reason.indexOf(text(cause)) < 0) {
        reason.append(": ").append(text(cause));
      }
      cause = cause.getCause();
    }
    return reason.toString().replaceAll("\\s*\\n\\s*", " ");
  }

  private static String text(Throwable failure) {
    String message = failure.getMessage();
    return message == null || message.isBlank() ? failure.getClass().getSimpleName() : message;
  }
}
