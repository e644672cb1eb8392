// SPDX-License-Identifier: Apache-2.0
// The views by their names in the address, behind the #.

import { parseAddress } from './address.js';
import { activity } from './views/activity.js';
import { leases } from './views/leases.js';
import { overview } from './views/overview.js';
import { queue } from './views/queue.js';
import { sessions } from './views/sessions.js';
import { tenants } from './views/tenants.js';
import { usage } from './views/usage.js';

/** @type {!Object<string, !page.View>} */
export const VIEWS = { pool: overview, usage, leases, queue, sessions, tenants, activity };

/**
 * Returns the name of the view in the address, and the id of the resource that is open in it.
 *
 * @return {{name: string, id: string}}
 */
export function route() {
  return parseAddress(location.hash, Object.keys(VIEWS));
}
