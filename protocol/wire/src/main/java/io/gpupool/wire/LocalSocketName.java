// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The name of a unix socket on which a server takes call streams of its own machine: {@code @NAME}
 * in the abstract namespace, or a file's name without its folder. A server can name no other
 * socket.
 */
public record LocalSocketName(String text) {
  private static final int RANDOM_BYTES = 8;
  private static final String PREFIX = "gpupool-stream-";
  private static final String FILE_SUFFIX = ".sock";
  private static final Pattern FORM =
      Pattern.compile("@gpupool-stream-[0-9a-f]{16}|gpupool-stream-[0-9a-f]{16}\\.sock");

  public LocalSocketName {
    if (!FORM.matcher(text).matches()) {
      throw new IllegalArgumentException("'" + text + "' names no socket of call streams");
    }
  }

  /** Returns the name of a text; empty: it is none. */
  public static Optional<LocalSocketName> of(String text) {
    return FORM.matcher(text).matches() ? Optional.of(new LocalSocketName(text)) : Optional.empty();
  }

  /** Returns a name in the abstract namespace that is nobody else's. */
  public static LocalSocketName randomAbstract(SecureRandom random) {
    return new LocalSocketName("@" + PREFIX + digits(random));
  }

  /** Returns the name of a file that is nobody else's. */
  public static LocalSocketName randomFile(SecureRandom random) {
    return new LocalSocketName(PREFIX + digits(random) + FILE_SUFFIX);
  }

  private static String digits(SecureRandom random) {
    byte[] bytes = new byte[RANDOM_BYTES];
    random.nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  /** Returns whether it is in the abstract namespace, and not a file's. */
  public boolean isAbstract() {
    return text.charAt(0) == '@';
  }

  @Override
  public String toString() {
    return text;
  }
}
