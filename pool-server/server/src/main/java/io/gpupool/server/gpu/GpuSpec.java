// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.gpu;

import io.gpupool.wire.ByteSize;
import java.util.regex.Pattern;

/**
 * The GPUs that a server serves, in the form of {@code --gpus}: {@code all} or {@code
 * soft:N[,mem=SIZE][,cc=X.Y]}.
 *
 * @param text checked, and passed on to workers unchanged
 */
public record GpuSpec(String text) {
  private static final String FORM = "all or soft:N[,mem=SIZE][,cc=X.Y]";
  private static final Pattern COUNT = Pattern.compile("[1-9][0-9]?");
  private static final Pattern CAPABILITY = Pattern.compile("[1-9][0-9]?\\.[0-9]");
  private static final int MAX_SOFT = 64;
  private static final String SOFT = "soft";

  public GpuSpec {
    String[] parts = text.split(",", -1);
    if (!text.equals("all") && !(parts[0].equals(SOFT) || parts[0].startsWith(SOFT + ":"))) {
      throw wrong(text, "it is neither");
    }
    if (parts[0].startsWith(SOFT + ":")) {
      String count = parts[0].substring(SOFT.length() + 1);
      if (!COUNT.matcher(count).matches() || Integer.parseInt(count) > MAX_SOFT) {
        throw wrong(text, "the number of software GPUs is 1 to " + MAX_SOFT);
      }
    }
    for (int i = 1; i < parts.length; i++) {
      if (parts[i].startsWith("mem=")) {
        if (ByteSize.parse(parts[i].substring(4)).bytes() < Share.MIN_MEMORY_BYTES) {
          throw wrong(text, "a GPU has at least 1 MiB");
        }
      } else if (!parts[i].startsWith("cc=")
          || !CAPABILITY.matcher(parts[i].substring(3)).matches()) {
        throw wrong(text, "'" + parts[i] + "' is not known");
      }
    }
    text = parts[0].equals(SOFT) ? text.replaceFirst(SOFT, SOFT + ":1") : text;
  }

  public boolean isSoft() {
    return text.startsWith(SOFT);
  }

  private static IllegalArgumentException wrong(String text, String why) {
    return new IllegalArgumentException("--gpus " + text + ": " + why + "; give " + FORM);
  }
}
