// SPDX-License-Identifier: Apache-2.0
// The section of a lease's dialog that shows its history.

import { call } from '../api.js';
import { h } from '../dom.js';
import { moment } from '../format.js';
import { mayAdminister } from '../me.js';
import { Pool } from '../pool.js';
import { eventsOf, timeline } from './timeline.js';

/** The history of one lease; `redraw` is called when there is more of it. */
export class LeaseHistory {
  /**
   * @param {string} id
   * @param {function(): void} redraw
   */
  constructor(id, redraw) {
    /** @private @const {string} */
    this.id = id;
    /** @private @const {function(): void} */
    this.redraw = redraw;
    /** @private {!Array<!rest.AuditLine>} */
    this.lines = [];
    /** @private {number} */
    this.upTo = -1;
  }

  /**
   * @param {!Pool} pool
   * @return {!Array<!page.Element>}
   */
  draw(pool) {
    const now = eventsOf(pool.events, this.id)[0]?.number ?? 0;
    // Only admins may read the audit log.
    if (mayAdminister() && pool.connection.live && now !== this.upTo) {
      this.upTo = now;
      this.load();
    }
    const all = timeline(pool.events, this.lines, this.id);
    return [
      h('h3', null, 'History'),
      all.length === 0
        ? h('p', { class: 'muted' }, 'Nothing is known.')
        : h(
            'ol',
            { class: 'timeline' },
            all.map(({ key, at, text }) =>
              h('li', { key }, h('time', null, moment(at)), ` ${text}`),
            ),
          ),
    ];
  }

  /**
   * @return {!Promise<void>}
   * @private
   */
  async load() {
    try {
      const path = `audit?limit=50&subject=${encodeURIComponent(this.id)}`;
      this.lines = (await call('GET', path)).items;
      this.redraw();
    } catch {
      // The events that the page has seen remain.
    }
  }
}
