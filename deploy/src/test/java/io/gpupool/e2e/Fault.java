// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.util.EnumSet;
import java.util.Set;

/** The kinds of faults of a network, of the relays in it, and of the hosts at its ends. */
enum Fault {
  /** A connection is reset; both ends hear of it. */
  RESET,

  /** A connection ends without an error. */
  CLOSE,

  /** A connection is reset while a request has come in part. */
  WITHIN_REQUEST,

  /** A connection is reset while an answer has come in part. */
  WITHIN_ANSWER,

  /** What one end sends gets lost for a while, without a word. */
  HALF_OPEN,

  /** Everything gets lost for a while, without a word. */
  SILENCE,

  /** The relay in front of the server dies, and another one is started a moment later. */
  RELAY_KILLED,

  /** The client gets another address, and its connections are gone. */
  ADDRESS_CHANGED,

  /** The agent is killed and started again, and the call stream breaks. */
  AGENT_KILLED;

  /** Those of which a single connection knows. */
  static final Set<Fault> OF_A_CONNECTION = EnumSet.of(RESET, CLOSE, WITHIN_REQUEST, WITHIN_ANSWER);

  /**
   * Those in which a program that ends cannot release its lease, which lasts for its window then.
   */
  static final Set<Fault> OF_SILENCE = EnumSet.of(HALF_OPEN, SILENCE);

  /** Those of a network between a client and a server. */
  static final Set<Fault> OF_A_NETWORK = EnumSet.complementOf(EnumSet.of(AGENT_KILLED));
}
