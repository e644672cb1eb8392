// SPDX-License-Identifier: Apache-2.0
// One lease: what it holds, its sessions, and what has become of it so far.

import { h } from '../dom.js';
import { bytesOf, count, duration, holder, nanos, percentOf } from '../format.js';
import { mayUse } from '../me.js';
import { ownerClass } from '../owners.js';
import { meter } from '../parts/meter.js';
import { Pool } from '../pool.js';
import { open } from './dialog.js';
import { evict } from './evict.js';
import { LeaseHistory } from './lease-history.js';

/** @type {(!page.Dialog|undefined)} */
let dialog;
let shownId = '';
/** @type {!LeaseHistory} */
let history;
/** @type {!Pool} */
let pool;

/**
 * Keeps the dialog of the lease in the address open and up to date.
 *
 * @param {!Pool} seen
 * @param {string} id
 * @return {void}
 */
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

/**
 * Forgets a closed dialog, unless another lease has been opened meanwhile.
 *
 * @param {string} id
 * @return {void}
 */
function closed(id) {
  if (shownId === id) {
    dialog = undefined;
    shownId = '';
    if (location.hash === `#/leases/${id}`) {
      location.hash = '#/leases';
    }
  }
}

/**
 * @param {!page.Dialog} handle
 * @return {!Array<*>}
 */
function draw({ close }) {
  const lease = pool.lease(shownId);
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
      lease && mayUse(lease.tenant) && evictButton(lease),
    ),
  ];
}

/**
 * @param {!rest.Lease} lease
 * @return {!page.Element}
 */
function evictButton(lease) {
  return h('button', { type: 'button', class: 'danger', onclick: () => evict(lease) }, 'Evict …');
}

/**
 * @param {!rest.Lease} lease
 * @return {!Array<*>}
 */
function details(lease) {
  const facts = [
    ['State', lease.state],
    ['Tenant', lease.tenant],
    ['Class', lease.class],
    ['Program', `${lease.holder.program}, process ${lease.holder.pid}`],
    ['Holder', holder(lease.holder)],
    ['Age', limited(lease, 'ageMillis', lease.timeLimitMillis)],
    lease.idleTimeoutMillis > 0 && ['Idle', limited(lease, 'idleMillis', lease.idleTimeoutMillis)],
    ['Resume window', lease.resumeWindowMillis > 0 ? duration(lease.resumeWindowMillis) : 'none'],
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

/**
 * Returns an age, with the age at which the lease ends if it is limited.
 *
 * @param {!rest.Lease} lease
 * @param {string} field
 * @param {number} limit
 * @return {string}
 */
function limited(lease, field, limit) {
  const now = duration(pool.age('leases', lease.id, field));
  return limit > 0 ? `${now}, ends at ${duration(limit)}` : now;
}

/**
 * @param {!rest.GrantUse} use
 * @param {string} tenant
 * @return {!page.Element}
 */
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

/**
 * @param {!rest.Lease} lease
 * @return {!page.Element}
 */
function sessions(lease) {
  const own = pool.sessions().filter((session) => session.leaseId === lease.id);
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
        session.resumeMillisLeft !== undefined &&
          `, ${duration(session.resumeMillisLeft)} left to resume`,
        session.lastError && [', ', h('span', { class: 'bad' }, session.lastError)],
      ),
    ),
  );
}
