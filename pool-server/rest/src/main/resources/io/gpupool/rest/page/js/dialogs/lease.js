// SPDX-License-Identifier: Apache-2.0
// One lease: what it holds, its sessions, and what has become of it so far.

import { h } from '../dom.js';
import { bytesOf, count, duration, holder, nanos, percentOf } from '../format.js';
import { mayUse } from '../me.js';
import { ownerClass } from '../owners.js';
import { meter } from '../parts/meter.js';
import { open } from './dialog.js';
import { evict } from './evict.js';
import { LeaseHistory } from './lease-history.js';

let dialog;
let shownId = '';
let history;
let pool;

/** Keeps the dialog of the lease that the address names open and up to date. */
export function showLease(seen, id) {
  pool = seen;
  if (dialog?.isOpen() && shownId === id) {
    dialog.redraw();
    return;
  }
  dialog?.close();
  shownId = id;
  if (id) {
    history = new LeaseHistory(id, () => dialog?.redraw());
    dialog = open({ title: `Lease ${id}`, draw, onClose: () => closed(id), wide: true });
  }
}

/** Told later than another lease may have been opened. */
function closed(id) {
  if (shownId === id) {
    dialog = undefined;
    shownId = '';
    if (location.hash === `#/leases/${id}`) {
      location.hash = '#/leases';
    }
  }
}

function draw({ close }) {
  const lease = pool.one('leases', shownId);
  return [
    lease
      ? details(lease)
      : h(
          'p',
          { class: 'empty' },
          pool.asOf > 0 ? 'It has ended, or is not yours to see.' : 'Waiting for the server …',
        ),
    history.draw(pool),
    h(
      'div',
      { class: 'buttons' },
      h('button', { type: 'button', onclick: close, autofocus: true }, 'Close'),
      lease &&
        mayUse(lease.tenant) &&
        h('button', { type: 'button', class: 'danger', onclick: () => evict(lease) }, 'Evict …'),
    ),
  ];
}

function details(lease) {
  const facts = [
    ['State', lease.state],
    ['Tenant', lease.tenant],
    ['Class', lease.class],
    ['Program', `${lease.holder.program}, process ${lease.holder.pid}`],
    ['Holder', holder(lease.holder)],
    ['Age', limited(lease, 'ageMillis', lease.timeLimitMillis)],
    lease.idleTimeoutMillis > 0 && ['Idle', limited(lease, 'idleMillis', lease.idleTimeoutMillis)],
  ];
  return [
    h(
      'dl',
      { class: 'facts-list' },
      facts
        .filter(Boolean)
        .map(([term, fact]) => h('div', { key: term }, h('dt', null, term), h('dd', null, fact))),
    ),
    h('h3', null, lease.grants.length === 1 ? 'Share' : 'Shares'),
    h(
      'ul',
      { class: 'plain' },
      lease.grants.map((use) => share(use, lease.tenant)),
    ),
    h('h3', null, 'Sessions'),
    sessions(lease),
  ];
}

/** It ends when it has become that much. */
function limited(lease, field, limit) {
  const now = duration(pool.age('leases', lease.id, field));
  return limit > 0 ? `${now}, ends at ${duration(limit)}` : now;
}

function share(use, tenant) {
  const { grant } = use;
  return h(
    'li',
    { class: 'granted' },
    h(
      'p',
      null,
      h('b', null, `${grant.server}/${grant.gpu}`),
      ` ${grant.gpuName}`,
      grant.partition && `, partition ${grant.partition}`,
      grant.hard && ', hard',
    ),
    meter(
      use.usedMemoryBytes,
      grant.memoryBytes,
      `Memory ${bytesOf(use.usedMemoryBytes, grant.memoryBytes)}`,
      ownerClass(tenant),
    ),
    meter(
      use.usedComputePercent,
      grant.computePercent,
      `Compute ${percentOf(use.usedComputePercent, grant.computePercent)}`,
      ownerClass(tenant),
    ),
    h(
      'p',
      { class: 'muted' },
      `GPU time: ${nanos(use.grantedGpuNanos)} granted, ${nanos(use.usedGpuNanos)} used; ` +
        `${nanos(use.waitedNanos)} waited, of which ${nanos(use.throttledNanos)} throttled` +
        (use.debtGpuNanos > 0 ? `; ${nanos(use.debtGpuNanos)} ahead of its share` : ''),
    ),
  );
}

function sessions(lease) {
  const own = pool.all('sessions').filter((session) => session.leaseId === lease.id);
  if (own.length === 0) {
    return h('p', { class: 'muted' }, 'None is open.');
  }
  return h(
    'ul',
    { class: 'plain' },
    own.map((session) =>
      h(
        'li',
        { key: session.id },
        h('b', null, session.client.program),
        ` process ${session.client.pid}, ${session.state}, ${count(session.callsPerSecond)} calls/s`,
        session.lastError && [', ', h('span', { class: 'bad' }, session.lastError)],
      ),
    ),
  );
}
