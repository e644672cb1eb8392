// SPDX-License-Identifier: Apache-2.0
// Taking a lease from its holder.

import { call } from '../api.js';
import { holder, plural } from '../format.js';
import { say } from '../parts/notice.js';
import { confirm } from './dialog.js';

export function evict(lease) {
  confirm({
    title: `Evict lease ${lease.id}?`,
    consequence: `${lease.holder.program} of ${holder(lease.holder)} loses its GPUs at once, with what it has not saved${
      lease.sessions > 0 ? ` (${plural(lease.sessions, 'session')})` : ''
    }. It may ask for a lease again.`,
    label: `Evict ${lease.id}`,
    submit: async () => {
      await call('DELETE', `leases/${encodeURIComponent(lease.id)}`);
      say(`Lease ${lease.id} was ended.`);
    },
  });
}
