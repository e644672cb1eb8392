// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The process, its user and its machine, as others are told of them. */
public final class ProcessInfo {
  /** The user this process runs as. */
  public static final int USER_ID = userId();

  public static final int PID = (int) ProcessHandle.current().pid();
  public static final String USER = System.getProperty("user.name");
  public static final String HOST = host();

  private ProcessInfo() {}

  /** Returns the user's name where it is known without a directory, else the number. */
  public static String user(int id) {
    return id == USER_ID ? USER : id == 0 ? "root" : "uid " + id;
  }

  /** The effective user: {@code /proc/self} belongs to root where a process must not be dumped. */
  private static int userId() {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
        if (line.startsWith("Uid:")) {
          return Integer.parseUnsignedInt(line.split("\t")[2]);
        }
      }
      throw new IOException("/proc/self/status has no Uid");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String host() {
    try {
      return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
    } catch (IOException e) {
      try {
        return InetAddress.getLocalHost().getHostName();
      } catch (UnknownHostException unknown) {
        return "localhost";
      }
    }
  }
}
