// SPDX-License-Identifier: Apache-2.0
// Who has signed in, and so what the page offers. The server decides on each request all the same.

import { call } from './api.js';

let me;

/** Asks the server, for who has another token now. */
export async function learnWho() {
  me = undefined;
  me = await call('GET', 'me');
}

/** What it answered; undefined as long as it has not. */
export function whoIsIn() {
  return me;
}

/** Whether GPUs can be cut, servers drained and tenants changed. */
export function mayAdminister() {
  return me?.role === 'admin';
}

/** Whether leases, requests and sessions of this tenant can be ended. */
export function mayUse(tenant) {
  return mayAdminister() || (me?.role === 'user' && me.tenant === tenant);
}
