// SPDX-License-Identifier: Apache-2.0
// What can be done with tenants.

import { createTenant, deleteTenant, setQuota } from '../dialogs/tenant.js';
import { showTokens } from '../dialogs/tokens.js';
import { h } from '../dom.js';
import { mayAdminister } from '../me.js';

/**
 * Returns the buttons above the table.
 *
 * @return {*}
 */
export function tenantTools() {
  return mayAdminister() && h('button', { type: 'button', onclick: createTenant }, 'New tenant …');
}

/**
 * Returns the buttons of one tenant.
 *
 * @param {!rest.Tenant} tenant
 * @return {?Array<!page.Element>}
 */
export function tenantActions(tenant) {
  if (!mayAdminister()) {
    return null;
  }
  return [
    button('Quota', 'Set the quota of', tenant, () => setQuota(tenant)),
    button('Tokens', 'Tokens of', tenant, () => showTokens(tenant.name)),
    button('Delete', 'Delete', tenant, () => deleteTenant(tenant)),
  ];
}

/**
 * @param {string} label
 * @param {string} what
 * @param {!rest.Tenant} tenant
 * @param {function(): *} onclick
 * @return {!page.Element}
 */
function button(label, what, tenant, onclick) {
  return h(
    'button',
    { type: 'button', class: 'quiet', onclick, 'aria-label': `${what} ${tenant.name}` },
    label,
  );
}
