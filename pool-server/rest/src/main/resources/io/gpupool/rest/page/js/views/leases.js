// SPDX-License-Identifier: Apache-2.0
// Leases that are granted: who holds what, and how much of it is used.

import { byName } from '../cards.js';
import { showLease } from '../dialogs/lease.js';
import { evict } from '../dialogs/evict.js';
import { h } from '../dom.js';
import { bytesOf, duration, holder, nanos, percentOf } from '../format.js';
import { mayUse } from '../me.js';
import { ownerClass } from '../owners.js';
import { meter } from '../parts/meter.js';
import { sortable } from '../parts/table.js';

let pool;

const sum = (lease, of) => lease.grants.reduce((total, use) => total + of(use), 0);
const usedMemory = (lease) => sum(lease, (use) => use.usedMemoryBytes);
const memory = (lease) => sum(lease, (use) => use.grant.memoryBytes);
const usedCompute = (lease) => sum(lease, (use) => use.usedComputePercent);
const compute = (lease) => sum(lease, (use) => use.grant.computePercent);
const gpuTime = (lease) => sum(lease, (use) => use.usedGpuNanos);

const table = sortable({
  name: 'leases',
  key: (lease) => lease.id,
  empty: 'Nothing is leased.',
  filter: (lease) => [
    lease.id,
    lease.state,
    lease.tenant,
    lease.class,
    lease.holder.program,
    holder(lease.holder),
    ...lease.grants.map((use) => place(use.grant)),
  ],
  columns: [
    {
      head: 'Lease',
      order: (lease) => lease.id,
      cell: (lease) => h('a', { href: `#/leases/${lease.id}` }, lease.id),
    },
    { head: 'State', order: (lease) => lease.state, cell: (lease) => lease.state },
    {
      head: 'Tenant',
      class: 'short',
      order: (lease) => lease.tenant,
      cell: (lease) => [
        h('span', { class: `swatch ${ownerClass(lease.tenant)}`, 'aria-hidden': 'true' }),
        lease.tenant,
      ],
    },
    { head: 'Class', order: (lease) => lease.class, cell: (lease) => lease.class },
    {
      head: 'Program',
      order: (lease) => lease.holder.program,
      cell: (lease) => [
        h('b', null, lease.holder.program),
        ` ${holder(lease.holder)} ${lease.holder.pid}`,
      ],
    },
    {
      head: 'GPU',
      order: (lease) => place(lease.grants[0].grant),
      cell: (lease) => lease.grants.map((use) => place(use.grant)).join(', '),
    },
    {
      head: 'Memory',
      class: 'measured',
      order: usedMemory,
      cell: (lease) =>
        meter(
          usedMemory(lease),
          memory(lease),
          bytesOf(usedMemory(lease), memory(lease)),
          ownerClass(lease.tenant),
        ),
    },
    {
      head: 'Compute',
      class: 'measured',
      order: usedCompute,
      cell: (lease) =>
        meter(
          usedCompute(lease),
          compute(lease),
          percentOf(usedCompute(lease), compute(lease)),
          ownerClass(lease.tenant),
        ),
    },
    { head: 'GPU time', class: 'number', order: gpuTime, cell: (lease) => nanos(gpuTime(lease)) },
    {
      head: 'Age',
      class: 'number',
      order: (lease) => pool.age('leases', lease.id, 'ageMillis'),
      cell: age,
    },
    {
      head: 'Actions',
      action: true,
      cell: (lease) =>
        mayUse(lease.tenant) &&
        h(
          'button',
          {
            type: 'button',
            class: 'danger',
            onclick: () => evict(lease),
            'aria-label': `Evict lease ${lease.id}`,
          },
          'Evict',
        ),
    },
  ],
});

/** With the age at which it ends, if there is one. */
function age(lease) {
  const now = duration(pool.age('leases', lease.id, 'ageMillis'));
  return lease.timeLimitMillis > 0 ? `${now} of ${duration(lease.timeLimitMillis)}` : now;
}

function place(grant) {
  return `${grant.server}/${grant.gpu}${grant.partition && `/${grant.partition}`}`;
}

export const leases = {
  title: 'Leases',
  draw(seen, { redraw }) {
    pool = seen;
    const rows = pool.all('leases').sort((a, b) => byName(a.id, b.id));
    return [h('div', { class: 'head', key: 'head' }, h('h1', null, 'Leases')), table(rows, redraw)];
  },
  open: showLease,
};
