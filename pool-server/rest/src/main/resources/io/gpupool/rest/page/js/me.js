// SPDX-License-Identifier: Apache-2.0
// Who has signed in, and so what the page offers. The server decides on each request all the same.

import { call } from './api.js';

/** @type {(!rest.Me|undefined)} */
let me;

/**
 * Asks the server who the token belongs to.
 *
 * @return {!Promise<void>}
 */
export async function learnWho() {
  me = undefined;
  me = await call('GET', 'me');
}

/**
 * Returns the signed-in user; undefined until the server has answered.
 *
 * @return {(!rest.Me|undefined)}
 */
export function whoIsIn() {
  return me;
}

/**
 * Returns whether the user may cut GPUs, drain servers and change tenants.
 *
 * @return {boolean}
 */
export function mayAdminister() {
  return me?.role === 'admin';
}

/**
 * Returns whether the user may end leases, requests and sessions of a tenant.
 *
 * @param {(string|undefined)} tenant
 * @return {boolean}
 */
export function mayUse(tenant) {
  return mayAdminister() || (me?.role === 'user' && me.tenant === tenant);
}
