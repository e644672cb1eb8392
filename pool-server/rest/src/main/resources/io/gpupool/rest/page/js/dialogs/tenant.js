// SPDX-License-Identifier: Apache-2.0
// Making tenants, setting what they may hold, and deleting them.

import { call, send } from '../api.js';
import { h } from '../dom.js';
import { GIB, plural } from '../format.js';
import { field } from '../parts/field.js';
import { say } from '../parts/notice.js';
import { confirm, openForm } from './dialog.js';

export function createTenant() {
  openForm({
    title: 'New tenant',
    label: 'Create',
    draw: () => [
      field({
        label: 'Name',
        name: 'name',
        required: true,
        autofocus: true,
        autocomplete: 'off',
        spellcheck: 'false',
        hint: 'lower case letters, digits, - . _',
      }),
      quotaFields({}),
    ],
    submit: async (data) => {
      const name = data.get('name').trim();
      await call('POST', 'tenants', { body: { name, quota: quotaOf(data) } });
      say(`Tenant ${name} was made.`);
    },
  });
}

/** Replaces the quota that is there now, and no other: it may have been changed meanwhile. */
export async function setQuota(tenant) {
  const path = `tenants/${encodeURIComponent(tenant.name)}`;
  try {
    const answer = await send('GET', path);
    const { quota } = await answer.json();
    openForm({
      title: `Quota of ${tenant.name}`,
      label: 'Set',
      draw: () => quotaFields(quota ?? {}),
      submit: async (data) => {
        const headers = { 'If-Match': answer.headers.get('ETag') };
        await call('PUT', path, { headers, body: { quota: quotaOf(data) } });
        say(`The quota of ${tenant.name} was set.`);
      },
    });
  } catch (error) {
    say(error.message, { isFault: true });
  }
}

export function deleteTenant(tenant) {
  confirm({
    title: `Delete tenant ${tenant.name}?`,
    consequence:
      tenant.usedLeases > 0
        ? `It holds ${plural(tenant.usedLeases, 'lease')}, and cannot be deleted before they end.`
        : 'Its tokens go with it: nobody can use them any more.',
    label: 'Delete',
    submit: async () => {
      await call('DELETE', `tenants/${encodeURIComponent(tenant.name)}`, {
        headers: { 'If-Match': '*' },
      });
      say(`Tenant ${tenant.name} was deleted.`);
    },
  });
}

function quotaFields(quota) {
  return [
    h('p', { class: 'hint' }, 'A field that is left empty limits nothing.'),
    h(
      'div',
      { class: 'pair' },
      number('GPUs', 'gpus', quota.gpus, { step: '0.001', hint: 'half of one counts 0.5' }),
      number(
        'Memory',
        'memory',
        quota.memoryBytes === undefined ? undefined : quota.memoryBytes / GIB,
        { step: 'any', unit: 'GiB' },
      ),
    ),
    h(
      'div',
      { class: 'pair' },
      number('Leases', 'leases', quota.leases, { step: '1' }),
      number('Highest priority', 'priority', quota.maxPriority, {
        step: '1',
        min: '-1000',
        max: '1000',
      }),
    ),
  ];
}

function number(label, name, value, more) {
  return field({
    label,
    name,
    type: 'number',
    min: '0',
    value: value === undefined ? '' : String(value),
    ...more,
  });
}

function quotaOf(data) {
  const quota = {};
  const take = (name, set) => {
    if (data.get(name) !== '') {
      set(Number(data.get(name)));
    }
  };
  take('gpus', (amount) => (quota.gpus = amount));
  take('memory', (amount) => (quota.memoryBytes = Math.round(amount * GIB)));
  take('leases', (amount) => (quota.leases = amount));
  take('priority', (amount) => (quota.maxPriority = amount));
  return quota;
}
