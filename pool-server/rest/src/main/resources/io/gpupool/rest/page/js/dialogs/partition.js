// SPDX-License-Identifier: Apache-2.0
// Cutting a GPU into partitions, resizing and deleting them, with the card drawn as it will be.

import { call } from '../api.js';
import { cards, uncut } from '../cards.js';
import { h } from '../dom.js';
import { bytes, GIB, percent, plural } from '../format.js';
import { box, field } from '../parts/field.js';
import { say } from '../parts/notice.js';
import { COMPUTE, MEMORY, scale } from '../parts/scale.js';
import { placeOf } from '../history.js';
import { Pool } from '../pool.js';
import { confirm, openForm } from './dialog.js';
import { initialSize, largestSize, resized, sizeFrom } from './partition-size.js';

/** The dialogs show the state as it is now, and the server refuses what does not fit it. */
const WHATEVER_STATE = { 'If-Match': '*' };

/**
 * Returns a card as it is now, or as it was if the pool no longer has the GPU.
 *
 * @param {!Pool} pool
 * @param {!page.Card} card
 * @return {!page.Card}
 */
function latest(pool, card) {
  return cards(pool).find(({ gpu }) => gpu.uuid === card.gpu.uuid) ?? card;
}

/**
 * @param {!page.Size} size
 * @param {!page.Size} room
 * @return {!page.Element}
 */
function sizeFields(size, room) {
  return h(
    'div',
    { class: 'pair' },
    field({
      label: 'Memory',
      name: 'memory',
      type: 'number',
      min: String(1 / 1024),
      step: 'any',
      required: true,
      value: String(Number((size.memoryBytes / GIB).toFixed(4))),
      unit: 'GiB',
      hint: `up to ${bytes(room.memoryBytes)}`,
    }),
    field({
      label: 'Compute',
      name: 'compute',
      type: 'number',
      min: '1',
      max: '100',
      step: '0.01',
      required: true,
      value: String(Number(size.computePercent.toFixed(2))),
      unit: '%',
      hint: `up to ${percent(room.computePercent)}`,
    }),
  );
}

/**
 * @param {!page.Card} card
 * @param {!page.Size=} extra
 * @return {!page.Element}
 */
function preview(card, extra) {
  return h(
    'div',
    { class: 'preview' },
    scale(card, MEMORY, h('p', { class: 'caption' }, h('span', { class: 'what' }, 'Memory')), {
      names: true,
      extra: extra?.memoryBytes,
    }),
    scale(card, COMPUTE, h('p', { class: 'caption' }, h('span', { class: 'what' }, 'Compute')), {
      extra: extra?.computePercent,
    }),
  );
}

/**
 * Asks for a new partition, at first half of the GPU or the free rest.
 *
 * @param {!Pool} pool
 * @param {!page.Card} card
 * @return {void}
 */
export function cut(pool, card) {
  const { gpu } = card;
  const room = uncut(card);
  const size = initialSize(card);
  const tenants = pool
    .tenants()
    .map((tenant) => tenant.name)
    .sort();
  openForm({
    title: `Cut a partition of GPU ${gpu.gpu} of ${gpu.server}`,
    label: 'Cut',
    draw: (/** !HTMLFormElement|undefined */ form) => [
      preview(latest(pool, card), form ? sizeFrom(new FormData(form)) : size),
      field({
        label: 'Name',
        name: 'name',
        required: true,
        autofocus: true,
        autocomplete: 'off',
        spellcheck: 'false',
        hint: 'programs ask for it by this name',
      }),
      sizeFields(size, room),
      box({
        label: 'Hard',
        name: 'hard',
        hint: 'its leases get no more compute than their share, even when the rest is idle',
      }),
      tenants.length > 0 &&
        h(
          'fieldset',
          null,
          h('legend', null, 'Reserved for'),
          tenants.map((name) => box({ label: name, name: 'tenants', value: name })),
          h('p', { class: 'hint' }, 'none: whoever asks'),
        ),
    ],
    submit: async (/** !FormData */ data) => {
      const name = String(data.get('name')).trim();
      await call('POST', 'partitions', {
        body: {
          ref: { server: gpu.server, gpu: gpu.gpu, name },
          size: sizeFrom(data),
          hard: data.has('hard'),
          tenants: data.getAll('tenants'),
        },
      });
      say(`Partition ${name} was cut.`);
    },
  });
}

/**
 * @param {!Pool} pool
 * @param {!page.Card} card
 * @param {!rest.Partition} partition
 * @return {void}
 */
export function resize(pool, card, partition) {
  const { name } = partition.ref;
  const room = largestSize(card, partition);
  openForm({
    title: `Resize partition ${placeOf(partition)}`,
    label: 'Resize',
    draw: (/** !HTMLFormElement|undefined */ form) => [
      preview(
        resized(latest(pool, card), name, form ? sizeFrom(new FormData(form)) : partition.size),
      ),
      partition.leases.length > 0 &&
        h(
          'p',
          null,
          `${bytes(partition.leased.memoryBytes)} and ${percent(partition.leased.computePercent)} of it are leased.`,
        ),
      sizeFields(partition.size, room),
      box({
        label: 'Wait for leases to end',
        name: 'wait',
        hint: 'if it becomes smaller than what is leased: nothing more is granted meanwhile',
      }),
    ],
    submit: async (/** !FormData */ data) => {
      await call('PATCH', `${pathOf(partition)}?wait=${data.has('wait')}`, {
        headers: WHATEVER_STATE,
        body: { size: sizeFrom(data) },
      });
      say(`Partition ${name} was resized.`);
    },
  });
}

/**
 * @param {!rest.Partition} partition
 * @return {void}
 */
export function remove(partition) {
  const count = partition.leases.length;
  confirm({
    title: `Delete partition ${placeOf(partition)}?`,
    consequence:
      count === 0
        ? 'What it holds is in no partition then, and free to all.'
        : `${plural(count, 'lease')} (${partition.leases.join(', ')}) go on. Nothing more is granted from it, and it is gone once the last of them ends.`,
    label: 'Delete',
    submit: async () => {
      await call('DELETE', `${pathOf(partition)}?wait=${count > 0}`, { headers: WHATEVER_STATE });
      say(
        count > 0
          ? `Partition ${partition.ref.name} goes with its last lease.`
          : `Partition ${partition.ref.name} was deleted.`,
      );
    },
  });
}

/**
 * @param {!rest.Partition} partition
 * @return {string}
 */
function pathOf({ ref }) {
  return ['partitions', ref.server, ref.gpu, ref.name]
    .map((part) => encodeURIComponent(part))
    .join('/');
}
