// SPDX-License-Identifier: Apache-2.0
// Tenants: what each may hold, and holds.

import { byName } from '../cards.js';
import { h } from '../dom.js';
import { bytes, bytesOf, count } from '../format.js';
import { ownerClass } from '../owners.js';
import { meter } from '../parts/meter.js';
import { sortable } from '../parts/table.js';
import { tenantActions, tenantTools } from './tenant-actions.js';

const table = sortable({
  name: 'tenants',
  key: (tenant) => tenant.name,
  empty: 'There are no tenants.',
  filter: (tenant) => [tenant.name],
  columns: [
    {
      head: 'Tenant',
      class: 'short',
      order: (tenant) => tenant.name,
      cell: (tenant) => [
        h('span', { class: `swatch ${ownerClass(tenant.name)}`, 'aria-hidden': 'true' }),
        h('b', null, tenant.name),
      ],
    },
    {
      head: 'GPUs',
      class: 'measured',
      order: (tenant) => tenant.usedGpus,
      cell: (tenant) =>
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
      order: (tenant) => tenant.usedMemoryBytes,
      cell: (tenant) =>
        used(tenant, tenant.usedMemoryBytes, tenant.quota?.memoryBytes, bytesOf, bytes),
    },
    {
      head: 'Leases',
      class: 'measured',
      order: (tenant) => tenant.usedLeases,
      cell: (tenant) =>
        used(tenant, tenant.usedLeases, tenant.quota?.leases, (a, b) => `${a} of ${b}`, String),
    },
    {
      head: 'Highest priority',
      class: 'number',
      order: (tenant) => tenant.quota?.maxPriority ?? Infinity,
      cell: (tenant) =>
        tenant.quota?.maxPriority === undefined
          ? h('span', { class: 'muted' }, 'any')
          : String(tenant.quota.maxPriority),
    },
    { head: 'Actions', action: true, cell: tenantActions },
  ],
});

/** What is not limited has no bar. */
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
  draw(pool, { redraw }) {
    const rows = pool.all('tenants').sort((a, b) => byName(a.name, b.name));
    return [
      h('div', { class: 'head', key: 'head' }, h('h1', null, 'Tenants'), tenantTools()),
      table(rows, redraw),
    ];
  },
};
