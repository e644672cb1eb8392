// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

/**
 * Slot of a session in the file of {@link SchedulePage}s, by which it gets its time slices of one
 * GPU.
 *
 * @param page number of the page
 * @param entry number of the entry that competes with the others of the page
 * @param session slot in that entry
 */
public record ScheduleSlot(int page, int entry, int session) {
  private static final int MAX_PAGES = 1 << 16;

  /**
   * Reads {@code page:entry:session}.
   *
   * @throws WireException if it is none
   */
  public static ScheduleSlot parse(String text) throws WireException {
    String[] parts = text.split(":", -1);
    try {
      if (parts.length == 3) {
        return new ScheduleSlot(
            number(parts[0], MAX_PAGES),
            number(parts[1], SchedulePage.MAX_LEASES),
            number(parts[2], SchedulePage.MAX_SESSIONS));
      }
    } catch (NumberFormatException e) {
      throw refusal(text);
    }
    throw refusal(text);
  }

  private static WireException refusal(String text) {
    return new WireException("not a slot of a GPU schedule (page:entry:session): " + text);
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
    return page + ":" + entry + ":" + session;
  }
}
