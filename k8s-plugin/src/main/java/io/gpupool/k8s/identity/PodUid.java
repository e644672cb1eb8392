// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.identity;

import java.util.regex.Pattern;

/**
 * A pod's UID as the API server has it, or, of a pod that the kubelet has from a file, the 32
 * digits that the kubelet made up.
 */
public record PodUid(String text) {
  private static final Pattern FORM =
      Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}");

  /** Throws {@link IllegalArgumentException} for anything else. */
  public PodUid {
    if (!FORM.matcher(text).matches()) {
      throw new IllegalArgumentException("'" + text + "' is no UID of a pod");
    }
  }

  @Override
  public String toString() {
    return text;
  }
}
