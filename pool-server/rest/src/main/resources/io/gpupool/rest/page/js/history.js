// SPDX-License-Identifier: Apache-2.0
// Changes as sentences. What only counts on (memory in use, calls) is no change worth a sentence.

import { bytes, holder, percent } from './format.js';

const TELLERS = {
  servers: {
    added: (server) => `Server ${server.name} joined`,
    removed: (server) => `Server ${server.name} left`,
    changed: (was, server) =>
      was.state !== server.state && `Server ${server.name} is ${server.state}`,
  },
  gpus: {
    added: (gpu) => `GPU ${gpu.server}/${gpu.gpu} is there`,
    removed: (gpu) => `GPU ${gpu.server}/${gpu.gpu} is gone`,
  },
  partitions: {
    added: (part) => `Partition ${placeOf(part)} was cut: ${size(part)}`,
    removed: (part) => `Partition ${placeOf(part)} is gone`,
    changed: (was, part) =>
      size(was) !== size(part)
        ? `Partition ${placeOf(part)} was resized from ${size(was)} to ${size(part)}`
        : !was.leaving && part.leaving && `Partition ${placeOf(part)} goes with its last lease`,
  },
  leases: {
    added: (lease) =>
      `Lease ${lease.id} was granted to ${lease.holder.program} of ${holder(lease.holder)}: ${shares(lease)}`,
    removed: (lease) => `Lease ${lease.id} ended`,
    changed: (was, lease) =>
      was.state !== lease.state && `Lease ${lease.id} ${STATES[lease.state] ?? lease.state}`,
  },
  queue: {
    added: (request) =>
      `Request ${request.id} of ${request.holder.program} of ${holder(request.holder)} waits: ${request.wanted}`,
    removed: (request) => `Request ${request.id} waits no more`,
    changed: (was, request) =>
      was.reason !== request.reason && `Request ${request.id} waits: ${request.reason}`,
  },
  sessions: {
    added: (session) => `${session.client.program} began a session on lease ${session.leaseId}`,
    removed: (session) => `${session.client.program} ended its session on lease ${session.leaseId}`,
    changed: (was, session) =>
      session.lastError &&
      was.lastError !== session.lastError &&
      `${session.client.program} on lease ${session.leaseId} got ${session.lastError}`,
  },
  tenants: {
    added: (tenant) => `Tenant ${tenant.name} was made`,
    removed: (tenant) => `Tenant ${tenant.name} was deleted`,
  },
};

const STATES = {
  held: 'is held again',
  grace: 'lost its holder and waits for it',
  ending: 'is being ended',
};

/** One sentence, or nothing. */
export function tell(kind, change, before, resource) {
  const tellers = TELLERS[kind];
  if (change === 'changed' || (change === 'added' && before)) {
    return before && tellers.changed?.(before, resource);
  }
  return tellers[change]?.(resource);
}

export function placeOf(partition) {
  return `${partition.ref.server}/${partition.ref.gpu}/${partition.ref.name}`;
}

function size(partition) {
  return `${bytes(partition.size.memoryBytes)}, ${percent(partition.size.computePercent)}`;
}

function shares(lease) {
  return lease.grants
    .map(
      ({ grant }) =>
        `${bytes(grant.memoryBytes)} and ${percent(grant.computePercent)} of ${grant.server}/${grant.gpu}`,
    )
    .join(', ');
}
