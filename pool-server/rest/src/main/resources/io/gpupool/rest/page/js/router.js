// SPDX-License-Identifier: Apache-2.0
// The views by the names that the address has behind the #.

import { activity } from './views/activity.js';
import { leases } from './views/leases.js';
import { overview } from './views/overview.js';
import { queue } from './views/queue.js';
import { sessions } from './views/sessions.js';
import { tenants } from './views/tenants.js';
import { usage } from './views/usage.js';

export const VIEWS = { pool: overview, usage, leases, queue, sessions, tenants, activity };

/** "#/leases/L1": the view's name, and the id of what is open in it. */
export function route() {
  const [name, id = ''] = location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
  return { name: name in VIEWS ? name : 'pool', id };
}
