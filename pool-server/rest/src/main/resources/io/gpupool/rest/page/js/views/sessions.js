// SPDX-License-Identifier: Apache-2.0
// Program processes on leases: what they call, move and use.

import { byName } from '../cards.js';
import { DECLARED } from '../declared.js';
import { end } from '../dialogs/evict.js';
import { h } from '../dom.js';
import { bytes, holder } from '../format.js';
import { mayUse } from '../me.js';
import { withDeclared } from '../parts/columns.js';
import { sortable } from '../parts/table.js';
import { Pool } from '../pool.js';

/** @type {!Pool} */
let pool;

/**
 * @param {!rest.Session} session
 * @return {number}
 */
const memory = (session) => session.usedMemoryBytes.reduce((sum, part) => sum + part, 0);

/**
 * Returns the bytes between the program's GPUs on different servers.
 *
 * @param {!rest.Session} session
 * @return {number}
 */
const peers = (session) => session.peerReceivedBytes + session.peerSentBytes;

/**
 * @param {!rest.Session} session
 * @param {string} field
 * @return {number}
 */
const grown = (session, field) => pool.age('sessions', session.id, field);

const table = sortable({
  name: 'sessions',
  key: (/** !rest.Session */ session) => session.id,
  empty: 'No program is attached.',
  filter: (/** !rest.Session */ session) => [
    session.leaseId,
    session.client.program,
    holder(session.client),
    session.state,
    session.lastError,
  ],
  columns: withDeclared(DECLARED.sessions, grown, [
    {
      head: 'Program',
      order: (/** !rest.Session */ session) => session.client.program,
      cell: (/** !rest.Session */ session) => [
        h('b', null, session.client.program),
        ` ${holder(session.client)} ${session.client.pid}`,
      ],
    },
    {
      head: 'Lease',
      order: (/** !rest.Session */ session) => session.leaseId,
      cell: (/** !rest.Session */ session) =>
        h('a', { href: `#/leases/${session.leaseId}` }, session.leaseId),
    },
    'Server',
    'State',
    'Resume left',
    'Calls/s',
    'Calls',
    'Received',
    'Sent',
    {
      head: 'Between servers',
      class: 'number',
      order: peers,
      cell: (/** !rest.Session */ session) => bytes(peers(session)),
    },
    {
      head: 'Memory',
      class: 'number',
      order: memory,
      cell: (/** !rest.Session */ session) => [
        bytes(memory(session)),
        session.driverMemoryBytes > 0 && ` (driver ${bytes(session.driverMemoryBytes)})`,
      ],
    },
    'GPU time',
    'Waited',
    'Age',
    {
      head: 'Last error',
      class: 'wide',
      order: (/** !rest.Session */ session) => session.lastError,
      cell: (/** !rest.Session */ session) =>
        session.lastError
          ? h('span', { class: 'bad' }, session.lastError)
          : h('span', { class: 'muted' }, 'none'),
    },
    {
      head: 'Actions',
      action: true,
      cell: (/** !rest.Session */ session) =>
        mayUse(pool.lease(session.leaseId)?.tenant) &&
        h(
          'button',
          {
            type: 'button',
            class: 'danger',
            onclick: () => end(session),
            'aria-label': `End session of ${session.client.program} ${session.client.pid}`,
          },
          'End',
        ),
    },
  ]),
});

export const sessions = {
  title: 'Sessions',
  /**
   * @param {!Pool} seen
   * @param {!page.DrawContext} context
   * @return {!Array<*>}
   */
  draw(seen, { redraw }) {
    pool = seen;
    const rows = pool.sessions().sort((a, b) => byName(a.leaseId, b.leaseId) || byName(a.id, b.id));
    return [
      h('div', { class: 'head', key: 'head' }, h('h1', null, 'Sessions')),
      table(rows, redraw),
    ];
  },
};
