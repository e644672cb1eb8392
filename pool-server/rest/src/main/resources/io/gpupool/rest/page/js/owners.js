// SPDX-License-Identifier: Apache-2.0
// A colour for each tenant, the same in every view for as long as the page is open.

const COLOURS = 8;
const given = new Map();

/** The class that sets a tenant's colour. */
export function ownerClass(tenant) {
  if (!given.has(tenant)) {
    given.set(tenant, given.size % COLOURS);
  }
  return `owner-${given.get(tenant)}`;
}
