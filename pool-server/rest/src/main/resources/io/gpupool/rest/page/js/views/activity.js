// SPDX-License-Identifier: Apache-2.0
// What has happened: changes that this page has seen.

import { h } from '../dom.js';
import { clock } from '../format.js';
import { sortable } from '../parts/table.js';

const seen = sortable({
  name: 'events',
  key: (event) => String(event.number),
  empty: 'Nothing has changed since this page was opened.',
  filter: (event) => [event.kind, event.id, event.text],
  columns: [
    { head: 'At', class: 'time', order: (event) => event.number, cell: (event) => h('time', null, clock(event.at)) },
    { head: 'Of', order: (event) => event.kind, cell: (event) => event.kind },
    { head: 'Event', class: 'wide', cell: (event) => event.text },
  ],
});

export const activity = {
  title: 'Activity',
  draw(pool, { redraw }) {
    return [
      h('div', { class: 'head', key: 'head' }, h('h1', null, 'Activity')),
      h('section', { key: 'events' }, h('h2', null, 'Since this page was opened'), seen(pool.events, redraw)),
    ];
  },
};
