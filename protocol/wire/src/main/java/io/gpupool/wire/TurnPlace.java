// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

/**
 * Place of a session in the file of {@link TurnPage}s, by which it takes its turns of one GPU.
 *
 * @param page number of the page
 * @param number of the entry that takes turns with the others of the page
 * @param session slot in that entry
 */
public record TurnPlace(int page, int number, int session) {
  private static final int MAX_PAGES = 1 << 16;

  /**
   * Reads {@code page:number:session}.
   *
   * @throws WireException if it is none
   */
  public static TurnPlace parse(String text) throws WireException {
    String[] parts = text.split(":", -1);
    try {
      if (parts.length == 3) {
        return new TurnPlace(
            number(parts[0], MAX_PAGES),
            number(parts[1], TurnPage.MAX_LEASES),
            number(parts[2], TurnPage.MAX_SESSIONS));
      }
    } catch (NumberFormatException e) {
      throw refusal(text);
    }
    throw refusal(text);
  }

  private static WireException refusal(String text) {
    return new WireException("not turns of a GPU (page:number:session): " + text);
  }

  private static int number(String text, int limit) {
    int number = Integer.parseInt(text);
    if (number < 0 || number >= limit) {
      throw new NumberFormatException();
    }
    return number;
  }

  @Override
  public String toString() {
    return page + ":" + number + ":" + session;
  }
}
