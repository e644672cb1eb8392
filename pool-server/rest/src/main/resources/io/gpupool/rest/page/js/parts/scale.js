// SPDX-License-Identifier: Apache-2.0
// A card's memory, or its compute, as a bar to scale: partitions as frames, in them the shares of
// leases, of each the part that is in use.

import { h } from '../dom.js';
import { ownerClass } from '../owners.js';

/** What is drawn: how large all of it is, a partition, a share, and how much of that is used. */
export const MEMORY = {
  whole: (gpu) => gpu.memoryBytes,
  part: (partition) => partition.size.memoryBytes,
  share: (use) => use.grant.memoryBytes,
  used: (use) => use.usedMemoryBytes,
};

export const COMPUTE = {
  whole: () => 100,
  part: (partition) => partition.size.computePercent,
  share: (use) => use.grant.computePercent,
  used: (use) => use.usedComputePercent,
};

/** `extra` is drawn behind all, such as a partition that is about to be cut. */
export function scale(card, measure, caption, { names = false, extra } = {}) {
  const whole = measure.whole(card.gpu);
  const pieces = [];
  const labels = [];
  let at = 0;
  for (const { partition, shares } of card.partitions) {
    const size = measure.part(partition);
    const where = span(at, size, whole);
    const key = partition.ref.name;
    pieces.push(
      h('span', {
        key: `part ${key}`,
        'data-part': key,
        class: partition.hard ? 'part hard' : 'part',
        style: where,
      }),
    );
    labels.push(h('span', { key, style: where, title: key }, key));
    let within = at;
    for (const share of shares) {
      pieces.push(segment(share, within, measure, whole));
      within += measure.share(share.use);
    }
    at += size;
  }
  for (const share of card.loose) {
    pieces.push(segment(share, at, measure, whole));
    at += measure.share(share.use);
  }
  if (extra > 0) {
    pieces.push(h('span', { key: 'extra', class: 'part wanted', style: span(at, extra, whole) }));
  }
  return h(
    'div',
    { class: 'scale' },
    caption,
    names && labels.length > 0 && h('div', { class: 'names', 'aria-hidden': 'true' }, labels),
    h('div', { class: 'bar-track', 'aria-hidden': 'true' }, pieces),
  );
}

function segment({ lease, use }, at, measure, whole) {
  const share = measure.share(use);
  const used = share > 0 ? Math.min(1, measure.used(use) / share) : 0;
  return h(
    'span',
    {
      key: `${lease.id} ${at}`,
      class: `share ${ownerClass(lease.tenant)}`,
      style: span(at, share, whole),
      title: `${lease.id} ${lease.holder.program}`,
    },
    h('span', { class: 'used', style: { width: `${100 * used}%` } }),
  );
}

function span(at, size, whole) {
  return { left: `${(100 * at) / whole}%`, width: `${(100 * size) / whole}%` };
}
