// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.options;

import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The unix socket on which a server takes call streams of its own machine.
 *
 * @param kind where it is, or that there is none
 * @param folder of its file; null: it has none
 */
public record LocalSocketOptions(Kind kind, @Nullable Path folder) {
  /** An abstract socket, where the kernel lets the server have one. */
  public static final LocalSocketOptions AUTO = new LocalSocketOptions(Kind.AUTO, null);

  public static final LocalSocketOptions NONE = new LocalSocketOptions(Kind.NONE, null);

  /** The kinds of sockets. */
  public enum Kind {
    AUTO,
    FILE,
    NONE
  }

  public LocalSocketOptions {
    if ((kind == Kind.FILE) != (folder != null)) {
      throw new IllegalArgumentException("a socket that is a file has a folder, and no other has");
    }
  }

  /** Returns the folder of a socket that is a file. */
  public Path requireFolder() {
    return Objects.requireNonNull(folder);
  }

  /**
   * Reads the value of the option {@code --local-socket}.
   *
   * @throws IllegalArgumentException if it is no such value
   */
  public static LocalSocketOptions parse(String text) {
    if (text.equals("auto")) {
      return AUTO;
    }
    if (text.equals("none")) {
      return NONE;
    }
    if (!text.startsWith("/")) {
      throw new IllegalArgumentException(
          "--local-socket '" + text + "' is none: give auto, none or a folder's whole path");
    }
    return new LocalSocketOptions(Kind.FILE, Path.of(text));
  }
}
