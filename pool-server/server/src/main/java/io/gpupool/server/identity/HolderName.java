// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import io.gpupool.control.v1.Holder;

/**
 * The process behind a lease or session, as it says itself; for people, not for decisions.
 *
 * @param pid 0 when not told
 */
public record HolderName(String host, int pid, String program, String user) {
  private static final int MAX_LENGTH = 128;

  public HolderName {
    host = plain(host);
    program = plain(program);
    user = plain(user);
  }

  public static HolderName of(Holder holder) {
    return new HolderName(holder.getHost(), holder.getPid(), holder.getProgram(), holder.getUser());
  }

  public Holder message() {
    return Holder.newBuilder().setHost(host).setPid(pid).setProgram(program).setUser(user).build();
  }

  /** Cuts what a stranger sent to something that can stand in a line of a terminal. */
  public static String plain(String text) {
    StringBuilder plain = new StringBuilder();
    text.codePoints()
        .filter(c -> !Character.isISOControl(c) && Character.getType(c) != Character.FORMAT)
        .limit(MAX_LENGTH)
        .forEach(plain::appendCodePoint);
    return plain.toString();
  }

  @Override
  public String toString() {
    return "pid "
        + Integer.toUnsignedString(pid)
        + " "
        + program
        + (host.isEmpty() ? "" : " on " + host);
  }
}
