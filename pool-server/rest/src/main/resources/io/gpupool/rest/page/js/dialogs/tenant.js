// SPDX-License-Identifier: Apache-2.0
// Making tenants, setting what they may hold, and deleting them.

import { call, send } from '../api.js';
import { h } from '../dom.js';
import { GIB, plural } from '../format.js';
import { field } from '../parts/field.js';
import { say } from '../parts/notice.js';
import { confirm, openForm } from './dialog.js';
import { quotaFrom } from './quota.js';

/** @return {void} */
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
    submit: async (/** !FormData */ data) => {
      const name = String(data.get('name')).trim();
      await call('POST', 'tenants', { body: { name, quota: quotaFrom(data) } });
      say(`Tenant ${name} was made.`);
    },
  });
}

/**
 * Replaces the quota that is shown; the server refuses it if the quota has changed meanwhile.
 *
 * @param {!rest.Tenant} tenant
 * @return {!Promise<void>}
 */
export async function setQuota(tenant) {
  const path = `tenants/${encodeURIComponent(tenant.name)}`;
  try {
    const answer = await send('GET', path);
    const { quota } = /** @type {!rest.Tenant} */ (await answer.json());
    openForm({
      title: `Quota of ${tenant.name}`,
      label: 'Set',
      draw: () => quotaFields(quota ?? {}),
      submit: async (/** !FormData */ data) => {
        const headers = { 'If-Match': answer.headers.get('ETag') };
        await call('PUT', path, { headers, body: { quota: quotaFrom(data) } });
        say(`The quota of ${tenant.name} was set.`);
      },
    });
  } catch (error) {
    say(error.message, { isFault: true });
  }
}

/**
 * @param {!rest.Tenant} tenant
 * @return {void}
 */
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

/**
 * @param {!rest.Quota} quota
 * @return {!Array<!page.Element>}
 */
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

/**
 * @param {string} label
 * @param {string} name
 * @param {(number|undefined)} value
 * @param {!Object<string, string>} more
 * @return {!page.Element}
 */
function number(label, name, value, more) {
  return field(
    /** @type {!page.FieldOptions} */ ({
      label,
      name,
      type: 'number',
      min: '0',
      value: value === undefined ? '' : String(value),
      ...more,
    }),
  );
}
