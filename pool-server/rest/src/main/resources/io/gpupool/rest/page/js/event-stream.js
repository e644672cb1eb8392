// SPDX-License-Identifier: Apache-2.0
// The format of server-sent events, which arrives in pieces.

const DATA = 'data: ';

/** The text of an event stream: collects pieces, and returns the changes that are complete. */
export class EventStream {
  constructor() {
    /** @private {string} */
    this.rest = '';
  }

  /**
   * Returns the changes that this piece completes. Comments, with which the server shows that it
   * is alive, are none.
   *
   * @param {string} piece
   * @return {!Array<!rest.Change>}
   */
  take(piece) {
    const events = (this.rest + piece).split('\n\n');
    this.rest = events.pop();
    return events
      .map((event) => event.split('\n').find((line) => line.startsWith(DATA)))
      .filter((data) => data !== undefined)
      .map((data) => JSON.parse(data.slice(DATA.length)));
  }
}
