// SPDX-License-Identifier: Apache-2.0
// Leases that are granted: who holds what, and how much of it is used.

import { byName } from '../cards.js';
import { DECLARED } from '../declared.js';
import { showLease } from '../dialogs/lease.js';
import { evict } from '../dialogs/evict.js';
import { h } from '../dom.js';
import { bytesOf, duration, holder, nanos, percentOf } from '../format.js';
import { mayUse } from '../me.js';
import { ownerClass } from '../owners.js';
import { withDeclared } from '../parts/columns.js';
import { meter } from '../parts/meter.js';
import { sortable } from '../parts/table.js';
import { Pool } from '../pool.js';

/** @type {!Pool} */
let pool;

/**
 * @param {!rest.Lease} lease
 * @param {function(!rest.GrantUse): number} of
 * @return {number}
 */
const sum = (lease, of) => lease.grants.reduce((total, use) => total + of(use), 0);
/**
 * @param {!rest.Lease} lease
 * @return {number}
 */
const usedMemory = (lease) => sum(lease, (use) => use.usedMemoryBytes);
/**
 * @param {!rest.Lease} lease
 * @return {number}
 */
const memory = (lease) => sum(lease, (use) => use.grant.memoryBytes);
/**
 * @param {!rest.Lease} lease
 * @return {number}
 */
const usedCompute = (lease) => sum(lease, (use) => use.usedComputePercent);
/**
 * @param {!rest.Lease} lease
 * @return {number}
 */
const compute = (lease) => sum(lease, (use) => use.grant.computePercent);
/**
 * @param {!rest.Lease} lease
 * @return {number}
 */
const gpuTime = (lease) => sum(lease, (use) => use.usedGpuNanos);

/**
 * @param {!rest.Lease} lease
 * @param {string} field
 * @return {number}
 */
const grown = (lease, field) => pool.age('leases', lease.id, field);

const table = sortable({
  name: 'leases',
  key: (/** !rest.Lease */ lease) => lease.id,
  empty: 'Nothing is leased.',
  filter: (/** !rest.Lease */ lease) => [
    lease.id,
    lease.state,
    lease.tenant,
    lease.class,
    lease.holder.program,
    holder(lease.holder),
    ...lease.grants.map((use) => place(use.grant)),
  ],
  columns: withDeclared(DECLARED.leases, grown, [
    {
      head: 'Lease',
      order: (/** !rest.Lease */ lease) => lease.id,
      cell: (/** !rest.Lease */ lease) => h('a', { href: `#/leases/${lease.id}` }, lease.id),
    },
    'State',
    {
      head: 'Tenant',
      class: 'short',
      order: (/** !rest.Lease */ lease) => lease.tenant,
      cell: (/** !rest.Lease */ lease) => [
        h('span', { class: `swatch ${ownerClass(lease.tenant)}`, 'aria-hidden': 'true' }),
        lease.tenant,
      ],
    },
    'Class',
    {
      head: 'Program',
      order: (/** !rest.Lease */ lease) => lease.holder.program,
      cell: (/** !rest.Lease */ lease) => [
        h('b', null, lease.holder.program),
        ` ${holder(lease.holder)} ${lease.holder.pid}`,
      ],
    },
    {
      head: 'GPU',
      order: (/** !rest.Lease */ lease) => place(lease.grants[0].grant),
      cell: (/** !rest.Lease */ lease) => lease.grants.map((use) => place(use.grant)).join(', '),
    },
    {
      head: 'Memory',
      class: 'measured',
      order: usedMemory,
      cell: (/** !rest.Lease */ lease) =>
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
      cell: (/** !rest.Lease */ lease) =>
        meter(
          usedCompute(lease),
          compute(lease),
          percentOf(usedCompute(lease), compute(lease)),
          ownerClass(lease.tenant),
        ),
    },
    {
      head: 'GPU time',
      class: 'number',
      order: gpuTime,
      cell: (/** !rest.Lease */ lease) => nanos(gpuTime(lease)),
    },
    {
      head: 'Age',
      class: 'number',
      order: (/** !rest.Lease */ lease) => pool.age('leases', lease.id, 'ageMillis'),
      cell: age,
    },
    {
      head: 'Actions',
      action: true,
      cell: (/** !rest.Lease */ lease) =>
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
  ]),
});

/**
 * Returns the age, with the age at which the lease ends if it has a limit.
 *
 * @param {!rest.Lease} lease
 * @return {string}
 */
function age(lease) {
  const now = duration(pool.age('leases', lease.id, 'ageMillis'));
  return lease.timeLimitMillis > 0 ? `${now} of ${duration(lease.timeLimitMillis)}` : now;
}

/**
 * @param {!rest.Grant} grant
 * @return {string}
 */
function place(grant) {
  return `${grant.server}/${grant.gpu}${grant.partition && `/${grant.partition}`}`;
}

export const leases = {
  title: 'Leases',
  /**
   * @param {!Pool} seen
   * @param {!page.DrawContext} context
   * @return {!Array<*>}
   */
  draw(seen, { redraw }) {
    pool = seen;
    const rows = pool.leases().sort((a, b) => byName(a.id, b.id));
    return [h('div', { class: 'head', key: 'head' }, h('h1', null, 'Leases')), table(rows, redraw)];
  },
  open: showLease,
};
