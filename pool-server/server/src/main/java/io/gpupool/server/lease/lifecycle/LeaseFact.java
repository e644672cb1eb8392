// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

/** A fact about a lease that decides, beside its state, what follows from an event. */
enum LeaseFact {
  /** A stream at this server holds the lease. */
  HELD_HERE("held here"),

  /** The holder is recorded to be at another server, and that server is alive. */
  HELD_ELSEWHERE("held elsewhere"),

  /** The record says in so many words that the holder is at this server. */
  RECORDED_HERE("recorded here"),

  /** This server says when the holder is gone, if no other server has it. */
  ANSWERS_FOR_HOLDER("answers for the holder"),

  /** This server has none of the lease's GPUs. */
  REMOTE("remote"),

  /** This server has the first of the lease's GPUs. */
  HOME("home"),

  /** The home server is alive. */
  HOME_ALIVE("home alive"),

  /** The holder need not stay connected: it comes back now and then. */
  RENEWABLE("renewable"),

  /** Sessions of the lease are at this server. */
  IN_USE("in use");

  private final String text;

  LeaseFact(String text) {
    this.text = text;
  }

  @Override
  public String toString() {
    return text;
  }
}
