// SPDX-License-Identifier: Apache-2.0
// Changes as sentences. What only counts on (memory in use, calls) is no change worth a sentence.

import { bytes, holder, percent } from './format.js';

/** @type {!Object<string, !page.Tellers>} */
const TELLERS = {
  servers: {
    added: (/** !rest.Server */ server) => `Server ${server.name} joined`,
    removed: (/** !rest.Server */ server) => `Server ${server.name} left`,
    changed: (/** !rest.Server */ was, /** !rest.Server */ server) =>
      was.state !== server.state && `Server ${server.name} is ${server.state}`,
  },
  gpus: {
    added: (/** !rest.Gpu */ gpu) => `GPU ${gpu.server}/${gpu.gpu} is there`,
    removed: (/** !rest.Gpu */ gpu) => `GPU ${gpu.server}/${gpu.gpu} is gone`,
  },
  partitions: {
    added: (/** !rest.Partition */ part) => `Partition ${placeOf(part)} was cut: ${size(part)}`,
    removed: (/** !rest.Partition */ part) => `Partition ${placeOf(part)} is gone`,
    changed: (/** !rest.Partition */ was, /** !rest.Partition */ part) =>
      size(was) !== size(part)
        ? `Partition ${placeOf(part)} was resized from ${size(was)} to ${size(part)}`
        : !was.leaving && part.leaving && `Partition ${placeOf(part)} goes with its last lease`,
  },
  leases: {
    added: (/** !rest.Lease */ lease) =>
      `Lease ${lease.id} was granted to ${lease.holder.program} of ${holder(lease.holder)}: ${shares(lease)}`,
    removed: (/** !rest.Lease */ lease) => `Lease ${lease.id} ended`,
    changed: (/** !rest.Lease */ was, /** !rest.Lease */ lease) =>
      was.state !== lease.state && `Lease ${lease.id} ${STATES[lease.state] ?? lease.state}`,
  },
  queue: {
    added: (/** !rest.QueuedRequest */ request) =>
      `Request ${request.id} of ${request.holder.program} of ${holder(request.holder)} waits: ${request.wanted}`,
    removed: (/** !rest.QueuedRequest */ request) => `Request ${request.id} waits no more`,
    changed: (/** !rest.QueuedRequest */ was, /** !rest.QueuedRequest */ request) =>
      was.reason.message !== request.reason.message &&
      `Request ${request.id} waits: ${request.reason.message}`,
  },
  sessions: {
    added: (/** !rest.Session */ session) =>
      `${session.client.program} began a session on lease ${session.leaseId}`,
    removed: (/** !rest.Session */ session) =>
      `${session.client.program} ended its session on lease ${session.leaseId}`,
    changed: (/** !rest.Session */ was, /** !rest.Session */ session) =>
      connectionChange(was, session) ||
      (session.lastError &&
        was.lastError !== session.lastError &&
        `${session.client.program} on lease ${session.leaseId} got ${session.lastError}`),
  },
  tenants: {
    added: (/** !rest.Tenant */ tenant) => `Tenant ${tenant.name} was made`,
    removed: (/** !rest.Tenant */ tenant) => `Tenant ${tenant.name} was deleted`,
  },
};

const STATES = {
  held: 'is held again',
  grace: 'lost its holder and waits for it',
  ending: 'is being ended',
};

/**
 * @param {!rest.Session} was
 * @param {!rest.Session} session
 * @return {(string|boolean)}
 */
function connectionChange(was, session) {
  const program = `${session.client.program} on lease ${session.leaseId}`;
  if (was.state === session.state) {
    return false;
  }
  return session.state === 'disconnected'
    ? `${program} lost its connection and may come back`
    : was.state === 'disconnected' && session.state === 'attached' && `${program} is connected again`;
}

/**
 * Returns a sentence about a change, or nothing if it is not worth one.
 *
 * @param {string} kind
 * @param {string} change
 * @param {?} before
 * @param {?} resource
 * @return {(string|boolean|undefined)}
 */
export function tell(kind, change, before, resource) {
  const tellers = TELLERS[kind];
  if (change === 'changed' || (change === 'added' && before)) {
    return before && tellers.changed?.(before, resource);
  }
  return tellers[change]?.(resource);
}

/**
 * @param {!rest.Partition} partition
 * @return {string}
 */
export function placeOf(partition) {
  return `${partition.ref.server}/${partition.ref.gpu}/${partition.ref.name}`;
}

/**
 * @param {!rest.Partition} partition
 * @return {string}
 */
function size(partition) {
  return `${bytes(partition.size.memoryBytes)}, ${percent(partition.size.computePercent)}`;
}

/**
 * @param {!rest.Lease} lease
 * @return {string}
 */
function shares(lease) {
  return lease.grants
    .map(
      ({ grant }) =>
        `${bytes(grant.memoryBytes)} and ${percent(grant.computePercent)} of ${grant.server}/${grant.gpu}`,
    )
    .join(', ');
}
