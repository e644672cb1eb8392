// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import io.netty.channel.unix.DomainSocketAddress;
import java.nio.charset.StandardCharsets;

/**
 * Where a unix socket listens: a path, or {@code @NAME} in the abstract namespace, where it leaves
 * nothing on disk.
 */
public record UnixAddress(String text) {
  private static final int MAX_BYTES = 107;

  public UnixAddress {
    int length = text.getBytes(StandardCharsets.UTF_8).length;
    if (length == 0 || text.equals("@") || length > MAX_BYTES || text.indexOf('\0') >= 0) {
      throw new IllegalArgumentException(
          "'" + text + "' is no unix socket: give a path or @NAME of at most 107 bytes");
    }
  }

  public boolean isAbstract() {
    return text.charAt(0) == '@';
  }

  public DomainSocketAddress socketAddress() {
    return new DomainSocketAddress(isAbstract() ? '\0' + text.substring(1) : text);
  }

  @Override
  public String toString() {
    return text;
  }
}
