// SPDX-License-Identifier: Apache-2.0
// The pool by its GPUs: each with its partitions, and the shares that leases have of it.

/**
 * Cards in the order of servers and ordinals: {gpu, partitions: [{partition, shares}], loose},
 * shares being {lease, use} and `loose` those in no partition.
 */
export function cards(pool) {
  const byPlace = new Map();
  for (const gpu of pool.all('gpus')) {
    byPlace.set(`${gpu.server}/${gpu.gpu}`, { gpu, partitions: [], loose: [] });
  }
  for (const partition of pool.all('partitions')) {
    const card = byPlace.get(`${partition.ref.server}/${partition.ref.gpu}`);
    card?.partitions.push({ partition, shares: [] });
  }
  for (const lease of pool.all('leases')) {
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

export function byName(a, b) {
  return a.localeCompare(b, 'en', { numeric: true });
}

/** All shares of a card, in the order in which they are drawn. */
export function sharesOf(card) {
  return [...card.partitions.flatMap((part) => part.shares), ...card.loose];
}

/** What of a card is in no partition and not leased: {memoryBytes, computePercent}. */
export function uncut(card) {
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
