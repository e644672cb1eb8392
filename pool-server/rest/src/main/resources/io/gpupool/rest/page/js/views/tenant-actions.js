// SPDX-License-Identifier: Apache-2.0
// What can be done with tenants.

export function tenantTools() {
  return null;
}

export function tenantActions() {
  return null;
}
