// SPDX-License-Identifier: Apache-2.0
package io.gpupool.container;

import io.gpupool.container.ContainerWiring.Mount;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Options of {@code docker run}, for a shell to put into a command by {@code $(...)}. */
public final class RunOptionLine {
  // Such a shell splits at blanks and expands patterns, and engines split at colons.
  private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9/._@%+=,-]+");

  private RunOptionLine() {}

  /**
   * Returns all options in one line.
   *
   * @throws IllegalArgumentException for a path or value that cannot be said in this way
   */
  public static String of(List<Mount> mounts, Map<String, String> environment) {
    return Stream.concat(
            mounts.stream()
                .map(mount -> "-v " + plain(mount.host()) + ":" + mount.container() + ":ro"),
            environment.entrySet().stream()
                .map(variable -> "-e " + variable.getKey() + "=" + plain(variable.getValue())))
        .collect(Collectors.joining(" "));
  }

  private static String plain(String text) {
    if (!PLAIN.matcher(text).matches()) {
      throw new IllegalArgumentException(
          "'"
              + text
              + "' cannot be said in options of a container engine; use a path without such"
              + " characters, or 'gpupool container cdi'");
    }
    return text;
  }
}
