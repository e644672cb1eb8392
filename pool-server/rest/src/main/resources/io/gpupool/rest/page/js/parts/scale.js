// SPDX-License-Identifier: Apache-2.0
// A card's memory, or its compute, as a bar to scale: partitions as frames, in them the shares of
// leases, of each the part that is in use.

import { h } from '../dom.js';
import { ownerClass } from '../owners.js';

/** @type {!page.BarMeasure} */
export const MEMORY = {
  whole: (/** !rest.Gpu */ gpu) => gpu.memoryBytes,
  part: (/** !rest.Partition */ partition) => partition.size.memoryBytes,
  share: (/** !rest.GrantUse */ use) => use.grant.memoryBytes,
  used: (/** !rest.GrantUse */ use) => use.usedMemoryBytes,
};

/** @type {!page.BarMeasure} */
export const COMPUTE = {
  whole: () => 100,
  part: (/** !rest.Partition */ partition) => partition.size.computePercent,
  share: (/** !rest.GrantUse */ use) => use.grant.computePercent,
  used: (/** !rest.GrantUse */ use) => use.usedComputePercent,
};

/**
 * Returns the bar of a card. `extra` is drawn after everything else, such as a partition that is
 * about to be cut.
 *
 * @param {!page.Card} card
 * @param {!page.BarMeasure} measure
 * @param {!page.Element} caption
 * @param {{names: (boolean|undefined), extra: (number|undefined)}=} options
 * @return {!page.Element}
 */
export function scale(card, measure, caption, { names = false, extra = 0 } = {}) {
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

/**
 * @param {!page.Share} share
 * @param {number} at
 * @param {!page.BarMeasure} measure
 * @param {number} whole
 * @return {!page.Element}
 */
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

/**
 * @param {number} at
 * @param {number} size
 * @param {number} whole
 * @return {{left: string, width: string}}
 */
function span(at, size, whole) {
  return { left: `${(100 * at) / whole}%`, width: `${(100 * size) / whole}%` };
}
