// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.move;

/**
 * The header of a message between the workers of a move.
 *
 * @param kind what it is
 * @param first its first value
 * @param second its second value
 * @param lengthBytes of what follows it
 */
record MoveMessage(Kind kind, long first, long second, long lengthBytes) {
  /** The kinds of messages, in the order of their numbers. */
  enum Kind {
    /** Source: version and digest of the ops; then the base address of each GPU's memory. */
    HELLO,
    /** Target: it can begin. */
    READY,
    /** Source: memory at an address, with its fingerprint; the bytes follow. */
    MEMORY,
    /** Source: the place where the call stream goes on follows. The session is paused. */
    PAUSED,
    /** Source: the next image follows. */
    IMAGE,
    /** Source: the state follows, whose checksum this is. */
    STATE,
    /** Source: that was all. */
    END,
    /** Target: the session is there as it was. */
    RESTORED,
    /** Target: it cannot be made; the reason follows. */
    FAILED
  }
}
