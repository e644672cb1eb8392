// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;

/** The address of a unix socket: a path, or {@code @NAME} for a name in the abstract namespace. */
final class UnixAddress {
  private static final int MAX_PATH_BYTES = 107;
  private static final int FAMILY_BYTES = 2;

  private final byte[] path;

  private UnixAddress(byte[] path) {
    this.path = path;
  }

  static UnixAddress of(String name) throws IOException {
    byte[] path = name.getBytes(StandardCharsets.UTF_8);
    if (path.length == 0 || path.length > MAX_PATH_BYTES) {
      throw new IOException("not the name of a unix socket (1 to 107 bytes): " + name);
    }
    return new UnixAddress(path);
  }

  /** Connects a socket to it; returns 0, or an error number, negated. */
  int connect(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      return Posix.connect(fd, structure(arena).address(), lengthBytes());
    }
  }

  /** Binds a socket to it; returns as above. */
  int bind(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      return Posix.bind(fd, structure(arena).address(), lengthBytes());
    }
  }

  private MemorySegment structure(Arena arena) {
    MemorySegment address = arena.allocate(FAMILY_BYTES + MAX_PATH_BYTES + 1);
    address.set(JAVA_SHORT, 0, (short) Posix.AF_UNIX);
    MemorySegment.copy(path, 0, address, JAVA_BYTE, FAMILY_BYTES, path.length);
    if (isAbstract()) {
      address.set(JAVA_BYTE, FAMILY_BYTES, (byte) 0);
    }
    return address;
  }

  /** An abstract name is exactly as long as the address says; a path ends with a zero byte. */
  private int lengthBytes() {
    return FAMILY_BYTES + path.length + (isAbstract() ? 0 : 1);
  }

  private boolean isAbstract() {
    return path[0] == '@';
  }
}
