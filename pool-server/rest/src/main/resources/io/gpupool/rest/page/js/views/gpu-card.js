// SPDX-License-Identifier: Apache-2.0
// One GPU: its memory and its time to scale, and in words who has which part of them.

import { sharesOf, uncut } from '../cards.js';
import { DECLARED } from '../declared.js';
import { cut, remove, resize } from '../dialogs/partition.js';
import { h } from '../dom.js';
import { bytes, bytesOf, holder, percent, percentOf } from '../format.js';
import { mayAdminister } from '../me.js';
import { ownerClass } from '../owners.js';
import { facts } from '../parts/columns.js';
import { COMPUTE, MEMORY, scale } from '../parts/scale.js';
import { Pool } from '../pool.js';

/**
 * Returns a card with the bars of a GPU and its holders.
 *
 * @param {!Pool} pool
 * @param {!page.Card} card
 * @return {!page.Element}
 */
export function gpuCard(pool, card) {
  const { gpu } = card;
  const shares = sharesOf(card);
  /**
   * @param {function(!rest.GrantUse): number} of
   * @return {number}
   */
  const sum = (of) => shares.reduce((total, share) => total + of(share.use), 0);
  const measured = facts(DECLARED.gpus, gpu, (/** string */ field) =>
    pool.age('gpus', gpu.uuid, field),
  );
  const titleId = `gpu-${gpu.server}-${gpu.gpu}`;
  return h(
    'article',
    { key: gpu.uuid, class: 'gpu', 'aria-labelledby': titleId },
    h(
      'header',
      null,
      h('h3', { id: titleId }, `GPU ${gpu.gpu}`),
      h('p', { class: 'model', title: gpu.uuid }, gpu.name),
      mayAdminister() &&
        h(
          'button',
          {
            type: 'button',
            onclick: () => cut(pool, card),
            'aria-label': `Cut a partition of GPU ${gpu.gpu} of ${gpu.server}`,
          },
          'Cut …',
        ),
    ),
    gpu.health === 'unhealthy' &&
      h(
        'p',
        { class: 'bad', role: 'alert' },
        `Unhealthy, nothing of it is granted: ${gpu.problem}`,
      ),
    measured.length > 0 && h('p', { class: 'labels' }, measured.join(' · ')),
    gpu.labels?.length > 0 && h('p', { class: 'labels' }, gpu.labels.join(' · ')),
    scale(
      card,
      MEMORY,
      caption('Memory', [
        [bytes(sum(MEMORY.used)), 'used'],
        [bytes(sum(MEMORY.share)), 'leased'],
        [bytes(gpu.memoryBytes), 'in all'],
      ]),
      { names: true },
    ),
    scale(
      card,
      COMPUTE,
      caption('Compute', [
        [percent(sum(COMPUTE.used)), 'used'],
        [percent(sum(COMPUTE.share)), 'leased'],
      ]),
    ),
    h(
      'ul',
      { class: 'parts' },
      card.partitions.map((part) => partitionRow(pool, card, part)),
      card.loose.map((share) => shareRow(share)),
      restRow(card),
    ),
  );
}

/**
 * @param {string} title
 * @param {!Array<!Array<string>>} figures
 * @return {!page.Element}
 */
function caption(title, figures) {
  return h(
    'p',
    { class: 'caption' },
    h('span', { class: 'what' }, title),
    h(
      'span',
      { class: 'figures' },
      figures.map(([figure, word]) => h('span', null, h('b', null, figure), ` ${word}`)),
    ),
  );
}

/**
 * @param {!Pool} pool
 * @param {!page.Card} card
 * @param {!page.PartitionShares} part
 * @return {!page.Element}
 */
function partitionRow(pool, card, { partition, shares }) {
  const { name } = partition.ref;
  return h(
    'li',
    { key: `part ${name}`, class: 'partition' },
    h(
      'div',
      { class: 'row' },
      h('span', { class: 'name' }, name),
      h(
        'span',
        { class: 'size' },
        `${bytes(partition.size.memoryBytes)} · ${percent(partition.size.computePercent)}`,
      ),
      mayAdminister() &&
        h(
          'span',
          { class: 'actions' },
          button('Resize', name, () => resize(pool, card, partition)),
          button('Delete', name, () => remove(partition)),
        ),
    ),
    h('p', { class: 'traits' }, traits(partition).join(' · ')),
    shares.length > 0 &&
      h(
        'ul',
        null,
        shares.map((share) => shareRow(share)),
      ),
  );
}

/**
 * @param {string} label
 * @param {string} name
 * @param {function(): void} onclick
 * @return {!page.Element}
 */
function button(label, name, onclick) {
  return h(
    'button',
    { type: 'button', class: 'quiet', onclick, 'aria-label': `${label} partition ${name}` },
    label,
  );
}

/**
 * @param {!rest.Partition} partition
 * @return {!Array<string>}
 */
function traits(partition) {
  const { target } = partition;
  return [
    partition.hard ? 'hard' : 'lends idle time',
    partition.tenants.length > 0 ? `for ${partition.tenants.join(', ')}` : 'for all',
    target?.memoryBytes > 0 &&
      `shrinks to ${bytes(target.memoryBytes)} · ${percent(target.computePercent)}`,
    partition.leaving && 'goes with its last lease',
  ].filter(Boolean);
}

/**
 * @param {!page.Share} share
 * @return {!page.Element}
 */
function shareRow({ lease, use }) {
  const { grant } = use;
  return h(
    'li',
    { key: `${lease.id} ${grant.partition}`, class: 'holder' },
    h('span', { class: `swatch ${ownerClass(lease.tenant)}`, 'aria-hidden': 'true' }),
    h('a', { href: `#/leases/${lease.id}`, 'aria-label': `Lease ${lease.id}` }, lease.id),
    h('span', { class: 'who' }, h('b', null, lease.holder.program), ` ${holder(lease.holder)}`),
    h(
      'span',
      { class: 'tenant' },
      lease.state === 'held' ? lease.tenant : `${lease.tenant}, ${lease.state}`,
    ),
    h(
      'span',
      { class: 'amounts' },
      h('span', null, bytesOf(use.usedMemoryBytes, grant.memoryBytes)),
      h('span', null, `${percentOf(use.usedComputePercent, grant.computePercent)}`),
    ),
  );
}

/**
 * @param {!page.Card} card
 * @return {!page.Element}
 */
function restRow(card) {
  const rest = uncut(card);
  const where = card.partitions.length > 0 ? 'In no partition' : 'Free';
  return h(
    'li',
    { key: 'rest', class: 'rest' },
    h('span', null, where),
    h('span', null, `${bytes(rest.memoryBytes)} · ${percent(rest.computePercent)}`),
  );
}
