// SPDX-License-Identifier: Apache-2.0
// Requests that wait: for what, why, and since when.

import { DECLARED } from '../declared.js';
import { cancel } from '../dialogs/evict.js';
import { h } from '../dom.js';
import { duration, holder } from '../format.js';
import { mayUse } from '../me.js';
import { ownerClass } from '../owners.js';
import { withDeclared } from '../parts/columns.js';
import { sortable } from '../parts/table.js';
import { Pool } from '../pool.js';

/** @type {!Pool} */
let pool;

/**
 * @param {!rest.QueuedRequest} request
 * @param {string} field
 * @return {number}
 */
const grown = (request, field) => pool.age('queue', request.id, field);

const table = sortable({
  name: 'requests',
  key: (/** !rest.QueuedRequest */ request) => request.id,
  empty: 'Nothing waits: whoever asks gets what is free.',
  filter: (/** !rest.QueuedRequest */ request) => [
    request.id,
    request.tenant,
    request.holder.program,
    holder(request.holder),
    request.reason.message,
  ],
  columns: withDeclared(DECLARED.queue, grown, [
    'Place',
    {
      head: 'Program',
      order: (/** !rest.QueuedRequest */ request) => request.holder.program,
      cell: (/** !rest.QueuedRequest */ request) => [
        h('b', null, request.holder.program),
        ` ${holder(request.holder)}`,
      ],
    },
    {
      head: 'Tenant',
      class: 'short',
      order: (/** !rest.QueuedRequest */ request) => request.tenant,
      cell: (/** !rest.QueuedRequest */ request) => [
        h('span', { class: `swatch ${ownerClass(request.tenant)}`, 'aria-hidden': 'true' }),
        request.tenant,
      ],
    },
    'Wants',
    {
      head: 'Waits because',
      class: 'wide',
      cell: (/** !rest.QueuedRequest */ request) => because(request.reason),
    },
    'Priority',
    {
      head: 'Waited',
      class: 'number',
      order: (/** !rest.QueuedRequest */ request) => pool.age('queue', request.id, 'waitedMillis'),
      cell: (/** !rest.QueuedRequest */ request) =>
        `${duration(pool.age('queue', request.id, 'waitedMillis'))} of ${duration(request.waitLimitMillis)}`,
    },
    {
      head: 'Actions',
      action: true,
      cell: (/** !rest.QueuedRequest */ request) =>
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
  ]),
});

/**
 * Returns why a request waits, and what a person at this page can do.
 *
 * @param {!rest.RejectionReason} reason
 * @return {string}
 */
function because(reason) {
  if (reason.noCapacity) {
    return `${reason.message}; evict a lease, or wait`;
  }
  if (reason.serversDraining) {
    return `${reason.message}; an admin can uncordon a server`;
  }
  if (reason.overQuota) {
    return `${reason.message}; an admin can raise the quota`;
  }
  return reason.message;
}

export const queue = {
  title: 'Queue',
  /**
   * @param {!Pool} seen
   * @param {!page.DrawContext} context
   * @return {!Array<*>}
   */
  draw(seen, { redraw }) {
    pool = seen;
    const rows = pool.queue().sort((a, b) => a.position - b.position);
    return [h('div', { class: 'head', key: 'head' }, h('h1', null, 'Queue')), table(rows, redraw)];
  },
};
