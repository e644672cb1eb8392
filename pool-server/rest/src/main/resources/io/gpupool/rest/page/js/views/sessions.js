// SPDX-License-Identifier: Apache-2.0
// Program processes on leases: what they call, move and use.

import { byName } from '../cards.js';
import { end } from '../dialogs/evict.js';
import { h } from '../dom.js';
import { bytes, count, duration, holder, nanos } from '../format.js';
import { mayUse } from '../me.js';
import { sortable } from '../parts/table.js';

let pool;

const memory = (session) => session.usedMemoryBytes.reduce((sum, part) => sum + part, 0);

/** From and to the program's GPUs at other servers. */
const peers = (session) => session.peerReceivedBytes + session.peerSentBytes;

const table = sortable({
  name: 'sessions',
  key: (session) => session.id,
  empty: 'No program is attached.',
  filter: (session) => [
    session.leaseId,
    session.client.program,
    holder(session.client),
    session.state,
    session.lastError,
  ],
  columns: [
    {
      head: 'Program',
      order: (session) => session.client.program,
      cell: (session) => [
        h('b', null, session.client.program),
        ` ${holder(session.client)} ${session.client.pid}`,
      ],
    },
    {
      head: 'Lease',
      order: (session) => session.leaseId,
      cell: (session) => h('a', { href: `#/leases/${session.leaseId}` }, session.leaseId),
    },
    { head: 'Server', order: (session) => session.server, cell: (session) => session.server },
    { head: 'State', order: (session) => session.state, cell: (session) => session.state },
    {
      head: 'Calls/s',
      class: 'number',
      order: (session) => session.callsPerSecond,
      cell: (session) => count(session.callsPerSecond),
    },
    {
      head: 'Calls',
      class: 'number',
      order: (session) => session.calls,
      cell: (session) => count(session.calls),
    },
    {
      head: 'Received',
      class: 'number',
      order: (session) => session.receivedBytes,
      cell: (session) => bytes(session.receivedBytes),
    },
    {
      head: 'Sent',
      class: 'number',
      order: (session) => session.sentBytes,
      cell: (session) => bytes(session.sentBytes),
    },
    {
      head: 'Between servers',
      class: 'number',
      order: peers,
      cell: (session) => bytes(peers(session)),
    },
    {
      head: 'Memory',
      class: 'number',
      order: memory,
      cell: (session) => [
        bytes(memory(session)),
        session.driverMemoryBytes > 0 && ` (driver ${bytes(session.driverMemoryBytes)})`,
      ],
    },
    {
      head: 'GPU time',
      class: 'number',
      order: (session) => session.gpuNanos,
      cell: (session) => nanos(session.gpuNanos),
    },
    {
      head: 'Waited',
      class: 'number',
      order: (session) => session.waitedNanos,
      cell: (session) => nanos(session.waitedNanos),
    },
    {
      head: 'Age',
      class: 'number',
      order: (session) => pool.age('sessions', session.id, 'ageMillis'),
      cell: (session) => duration(pool.age('sessions', session.id, 'ageMillis')),
    },
    {
      head: 'Last error',
      class: 'wide',
      order: (session) => session.lastError,
      cell: (session) =>
        session.lastError
          ? h('span', { class: 'bad' }, session.lastError)
          : h('span', { class: 'muted' }, 'none'),
    },
    {
      head: 'Actions',
      action: true,
      cell: (session) =>
        mayUse(pool.one('leases', session.leaseId)?.tenant) &&
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
  ],
});

export const sessions = {
  title: 'Sessions',
  draw(seen, { redraw }) {
    pool = seen;
    const rows = pool
      .all('sessions')
      .sort((a, b) => byName(a.leaseId, b.leaseId) || byName(a.id, b.id));
    return [
      h('div', { class: 'head', key: 'head' }, h('h1', null, 'Sessions')),
      table(rows, redraw),
    ];
  },
};
