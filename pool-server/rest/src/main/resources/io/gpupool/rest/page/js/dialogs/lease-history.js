// SPDX-License-Identifier: Apache-2.0
// What has become of a lease: what the pool has put down, and what this page has seen besides.

import { call } from '../api.js';
import { h } from '../dom.js';
import { moment } from '../format.js';
import { mayAdminister } from '../me.js';

const WORDS = { 'lease.grant': 'granted to', 'lease.update': 'changed to', 'lease.end': 'ended:' };

/** The history of one lease; `redraw` is called when there is more of it. */
export class LeaseHistory {
  #id;
  #redraw;
  #lines = [];
  #upTo = -1;

  constructor(id, redraw) {
    this.#id = id;
    this.#redraw = redraw;
  }

  draw(pool) {
    const own = pool.events.filter((event) => event.kind === 'leases' && event.id === this.#id);
    const of = pool.events.filter(
      (event) => event.kind === 'sessions' && event.text.includes(`lease ${this.#id}`),
    );
    const now = own[0]?.number ?? 0;
    // The audit log is not for everyone: what the page has seen stays.
    if (mayAdminister() && pool.connection.live && now !== this.#upTo) {
      this.#upTo = now;
      this.#load();
    }
    // That it was granted and has ended is put down by the pool.
    const seen = [
      ...own.filter((event) => this.#lines.length === 0 || !/granted|ended/.test(event.text)),
      ...of,
    ];
    const all = [
      ...this.#lines.map((line) => ({ key: line.id, at: line.atMillis, text: sentence(line) })),
      ...seen.map((event) => ({ key: String(event.number), at: event.at, text: event.text })),
    ].sort((a, b) => b.at - a.at);
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

  async #load() {
    try {
      this.#lines = (
        await call('GET', `audit?limit=50&subject=${encodeURIComponent(this.#id)}`)
      ).items;
      this.#redraw();
    } catch {
      // What the page has seen stays.
    }
  }
}

function sentence(line) {
  return `${WORDS[line.action] ?? line.action} ${line.detail}, by ${line.actor}`;
}
