// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

/**
 * The address of a worker of the same program on another server.
 *
 * @param address of that server's call-stream port, HOST:PORT
 * @param session the id of the program's session there
 * @param key what the server there is shown, in hexadecimal
 */
public record PeerAddress(String address, String session, String key) {
  /** The server gives a worker so many random bytes with each connection. */
  public static final int RANDOM_BYTES = PeerSecret.BYTES;
}
