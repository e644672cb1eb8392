// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

/**
 * Words of a {@link TimeTable} by which a session takes its turns of one GPU.
 *
 * @param page number of the page
 * @param number of the entry that takes turns with the others of the page
 * @param session slot in that entry
 */
public record TurnPlace(int page, int number, int session) {
  @Override
  public String toString() {
    return page + ":" + number + ":" + session;
  }
}
