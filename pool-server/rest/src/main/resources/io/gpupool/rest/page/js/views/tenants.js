// SPDX-License-Identifier: Apache-2.0
// Tenants: what each may hold, and holds.

import { byName } from '../cards.js';
import { h } from '../dom.js';
import { bytes, bytesOf, count } from '../format.js';
import { ownerClass } from '../owners.js';
import { meter } from '../parts/meter.js';
import { sortable } from '../parts/table.js';
import { Pool } from '../pool.js';
import { tenantActions, tenantTools } from './tenant-actions.js';

const table = sortable({
  name: 'tenants',
  key: (/** !rest.Tenant */ tenant) => tenant.name,
  empty: 'There are no tenants.',
  filter: (/** !rest.Tenant */ tenant) => [tenant.name],
  columns: [
    {
      head: 'Tenant',
      class: 'short',
      order: (/** !rest.Tenant */ tenant) => tenant.name,
      cell: (/** !rest.Tenant */ tenant) => [
        h('span', { class: `swatch ${ownerClass(tenant.name)}`, 'aria-hidden': 'true' }),
        h('b', null, tenant.name),
      ],
    },
    {
      head: 'GPUs',
      class: 'measured',
      order: (/** !rest.Tenant */ tenant) => tenant.usedGpus,
      cell: (/** !rest.Tenant */ tenant) =>
        used(
          tenant,
          tenant.usedGpus,
          tenant.quota?.gpus,
          (a, b) => `${count(a)} of ${count(b)}`,
          count,
        ),
    },
    {
      head: 'Memory',
      class: 'measured',
      order: (/** !rest.Tenant */ tenant) => tenant.usedMemoryBytes,
      cell: (/** !rest.Tenant */ tenant) =>
        used(tenant, tenant.usedMemoryBytes, tenant.quota?.memoryBytes, bytesOf, bytes),
    },
    {
      head: 'Leases',
      class: 'measured',
      order: (/** !rest.Tenant */ tenant) => tenant.usedLeases,
      cell: (/** !rest.Tenant */ tenant) =>
        used(tenant, tenant.usedLeases, tenant.quota?.leases, (a, b) => `${a} of ${b}`, String),
    },
    {
      head: 'Highest priority',
      class: 'number',
      order: (/** !rest.Tenant */ tenant) => tenant.quota?.maxPriority ?? Infinity,
      cell: (/** !rest.Tenant */ tenant) =>
        tenant.quota?.maxPriority === undefined
          ? h('span', { class: 'muted' }, 'any')
          : String(tenant.quota.maxPriority),
    },
    { head: 'Actions', action: true, cell: tenantActions },
  ],
});

/**
 * Returns an amount with its limit as a bar, or without a bar if there is no limit.
 *
 * @param {!rest.Tenant} tenant
 * @param {number} amount
 * @param {(number|undefined)} limit
 * @param {function(number, number): string} both
 * @param {function(number): string} one
 * @return {!page.Element}
 */
function used(tenant, amount, limit, both, one) {
  return limit === undefined || limit === null
    ? h(
        'span',
        { class: 'meter' },
        h(
          'span',
          { class: 'figure' },
          `${one(amount)}, `,
          h('span', { class: 'muted' }, 'no limit'),
        ),
      )
    : meter(amount, limit, both(amount, limit), ownerClass(tenant.name));
}

export const tenants = {
  title: 'Tenants',
  /**
   * @param {!Pool} pool
   * @param {!page.DrawContext} context
   * @return {!Array<*>}
   */
  draw(pool, { redraw }) {
    const rows = pool.tenants().sort((a, b) => byName(a.name, b.name));
    return [
      h('div', { class: 'head', key: 'head' }, h('h1', null, 'Tenants'), tenantTools()),
      table(rows, redraw),
    ];
  },
};
