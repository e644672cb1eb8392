// SPDX-License-Identifier: Apache-2.0
// Requests that wait: for what, why, and since when.

import { cancel } from '../dialogs/evict.js';
import { h } from '../dom.js';
import { duration, holder } from '../format.js';
import { mayUse } from '../me.js';
import { ownerClass } from '../owners.js';
import { sortable } from '../parts/table.js';

let pool;

const table = sortable({
  name: 'requests',
  key: (request) => request.id,
  empty: 'Nothing waits: whoever asks gets what is free.',
  filter: (request) => [
    request.id,
    request.tenant,
    request.holder.program,
    holder(request.holder),
    request.reason,
  ],
  columns: [
    {
      head: 'Place',
      class: 'number',
      order: (request) => request.position,
      cell: (request) => String(request.position),
    },
    {
      head: 'Program',
      order: (request) => request.holder.program,
      cell: (request) => [h('b', null, request.holder.program), ` ${holder(request.holder)}`],
    },
    {
      head: 'Tenant',
      class: 'short',
      order: (request) => request.tenant,
      cell: (request) => [
        h('span', { class: `swatch ${ownerClass(request.tenant)}`, 'aria-hidden': 'true' }),
        request.tenant,
      ],
    },
    { head: 'Wants', cell: (request) => request.wanted },
    { head: 'Waits because', class: 'wide', cell: (request) => request.reason },
    {
      head: 'Priority',
      class: 'number',
      order: (request) => request.priority,
      cell: (request) => String(request.priority),
    },
    {
      head: 'Waited',
      class: 'number',
      order: (request) => pool.age('queue', request.id, 'waitedMillis'),
      cell: (request) =>
        `${duration(pool.age('queue', request.id, 'waitedMillis'))} of ${duration(request.waitLimitMillis)}`,
    },
    {
      head: 'Actions',
      action: true,
      cell: (request) =>
        mayUse(request.tenant) &&
        h(
          'button',
          {
            type: 'button',
            class: 'danger',
            onclick: () => cancel(request),
            'aria-label': `Cancel request ${request.id}`,
          },
          'Cancel',
        ),
    },
  ],
});

export const queue = {
  title: 'Queue',
  draw(seen, { redraw }) {
    pool = seen;
    const rows = pool.all('queue').sort((a, b) => a.position - b.position);
    return [h('div', { class: 'head', key: 'head' }, h('h1', null, 'Queue')), table(rows, redraw)];
  },
};
