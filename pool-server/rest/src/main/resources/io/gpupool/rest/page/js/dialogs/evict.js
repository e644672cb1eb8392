// SPDX-License-Identifier: Apache-2.0
// Taking from programs what they hold or wait for.

import { call } from '../api.js';
import { holder, plural } from '../format.js';
import { say } from '../parts/notice.js';
import { confirm } from './dialog.js';

/**
 * @param {!rest.Lease} lease
 * @return {void}
 */
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

/**
 * @param {!rest.QueuedRequest} request
 * @return {void}
 */
export function cancel(request) {
  confirm({
    title: `Cancel request ${request.id}?`,
    consequence: `${request.holder.program} of ${holder(request.holder)} is told that its request for ${request.wanted} is refused.`,
    label: 'Cancel the request',
    keep: 'Keep it',
    submit: async () => {
      await call('DELETE', `queue/${encodeURIComponent(request.id)}`);
      say(`Request ${request.id} was cancelled.`);
    },
  });
}

/**
 * @param {!rest.Session} session
 * @return {void}
 */
export function end(session) {
  confirm({
    title: `End the session of ${session.client.program}?`,
    consequence: `Process ${session.client.pid} of ${holder(session.client)} loses its GPUs at once. Its lease ${session.leaseId} goes on.`,
    label: 'End the session',
    submit: async () => {
      await call('DELETE', `sessions/${encodeURIComponent(session.id)}`);
      say(`The session of ${session.client.program} was ended.`);
    },
  });
}
