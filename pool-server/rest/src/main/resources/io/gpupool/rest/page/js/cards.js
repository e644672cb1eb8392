// SPDX-License-Identifier: Apache-2.0
// The pool by its GPUs: each with its partitions, and the shares that leases have of it.

import { Pool } from './pool.js';

/**
 * Returns the GPUs in the order of servers and ordinals, each with its partitions and shares.
 *
 * @param {!Pool} pool
 * @return {!Array<!page.Card>}
 */
export function cards(pool) {
  /** @type {!Map<string, !page.Card>} */
  const byPlace = new Map();
  for (const gpu of pool.gpus()) {
    byPlace.set(`${gpu.server}/${gpu.gpu}`, { gpu, partitions: [], loose: [] });
  }
  for (const partition of pool.partitions()) {
    const card = byPlace.get(`${partition.ref.server}/${partition.ref.gpu}`);
    card?.partitions.push({ partition, shares: [] });
  }
  for (const lease of pool.leases()) {
    for (const use of lease.grants) {
      const card = byPlace.get(`${use.grant.server}/${use.grant.gpu}`);
      if (card) {
        const part = card.partitions.find(
          ({ partition }) => partition.ref.name === use.grant.partition,
        );
        (part?.shares ?? card.loose).push({ lease, use });
      }
    }
  }
  const all = [...byPlace.values()].sort(
    (a, b) => byName(a.gpu.server, b.gpu.server) || a.gpu.gpu - b.gpu.gpu,
  );
  for (const card of all) {
    card.partitions.sort((a, b) => byName(a.partition.ref.name, b.partition.ref.name));
    [card.loose, ...card.partitions.map((part) => part.shares)].forEach((shares) =>
      shares.sort((a, b) => byName(a.lease.id, b.lease.id)),
    );
  }
  return all;
}

/**
 * Compares names, with numbers in them by value: L9 comes before L10.
 *
 * @param {string} a
 * @param {string} b
 * @return {number}
 */
export function byName(a, b) {
  return a.localeCompare(b, 'en', { numeric: true });
}

/**
 * Returns all shares of a card, in the order in which they are drawn.
 *
 * @param {!page.Card} card
 * @return {!Array<!page.Share>}
 */
export function sharesOf(card) {
  return [...card.partitions.flatMap((part) => part.shares), ...card.loose];
}

/**
 * Returns the part of a card that is in no partition and not leased.
 *
 * @param {!page.Card} card
 * @return {!page.Size}
 */
export function uncut(card) {
  /**
   * @param {function(!rest.Partition): number} ofPart
   * @param {function(!rest.GrantUse): number} ofUse
   * @return {number}
   */
  const taken = (ofPart, ofUse) =>
    card.partitions.reduce((sum, part) => sum + ofPart(part.partition), 0) +
    card.loose.reduce((sum, share) => sum + ofUse(share.use), 0);
  return {
    memoryBytes: Math.max(
      0,
      card.gpu.memoryBytes -
        taken(
          (part) => part.size.memoryBytes,
          (use) => use.grant.memoryBytes,
        ),
    ),
    computePercent: Math.max(
      0,
      100 -
        taken(
          (part) => part.size.computePercent,
          (use) => use.grant.computePercent,
        ),
    ),
  };
}
