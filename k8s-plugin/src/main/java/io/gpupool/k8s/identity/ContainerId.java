// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.identity;

import java.util.regex.Pattern;

/** A container's id as its runtime has it: 64 hexadecimal digits, without the runtime's name. */
public record ContainerId(String text) {
  private static final Pattern FORM = Pattern.compile("[0-9a-f]{64}");

  /** Throws {@link IllegalArgumentException} for anything else. */
  public ContainerId {
    if (!FORM.matcher(text).matches()) {
      throw new IllegalArgumentException("'" + text + "' is no id of a container");
    }
  }

  @Override
  public String toString() {
    return text;
  }
}
