// SPDX-License-Identifier: Apache-2.0
// A colour for each tenant, the same in every view for as long as the page is open.

const COLOURS = 8;
/** @type {!Map<string, number>} */
const given = new Map();

/**
 * Returns the class that sets the colour of a tenant.
 *
 * @param {string} tenant
 * @return {string}
 */
export function ownerClass(tenant) {
  if (!given.has(tenant)) {
    given.set(tenant, given.size % COLOURS);
  }
  return `owner-${given.get(tenant)}`;
}
