// SPDX-License-Identifier: Apache-2.0
// Cutting a GPU into partitions, resizing and deleting them, with the card drawn as it will be.

import { call } from '../api.js';
import { cards, uncut } from '../cards.js';
import { h } from '../dom.js';
import { bytes, GIB, MIB, percent, plural } from '../format.js';
import { box, field } from '../parts/field.js';
import { say } from '../parts/notice.js';
import { COMPUTE, MEMORY, scale } from '../parts/scale.js';
import { placeOf } from '../history.js';
import { confirm, openForm } from './dialog.js';

/** The dialogs show the state as it is now, and the server refuses what does not fit it. */
const WHATEVER_STATE = { 'If-Match': '*' };

function cardOf(pool, uuid) {
  return cards(pool).find((card) => card.gpu.uuid === uuid);
}

/** What the fields say now; memory is given in MiB below a GiB. */
function sizeOf(form, before) {
  const data = form && new FormData(form);
  const memory = data ? Number(data.get('memory')) * GIB : before.memoryBytes;
  const compute = data ? Number(data.get('compute')) : before.computePercent;
  return {
    memoryBytes: Math.round(memory / MIB) * MIB,
    computePercent: compute,
  };
}

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

/** A new one: at first half of the card, or what is left of it. */
export function cut(pool, uuid) {
  const card = cardOf(pool, uuid);
  const { gpu } = card;
  const room = uncut(card);
  const size = {
    memoryBytes: Math.min(room.memoryBytes, Math.floor(gpu.memoryBytes / 2 / MIB) * MIB),
    computePercent: Math.min(room.computePercent, 50),
  };
  const tenants = pool
    .all('tenants')
    .map((tenant) => tenant.name)
    .sort();
  openForm({
    title: `Cut a partition of GPU ${gpu.gpu} of ${gpu.server}`,
    label: 'Cut',
    draw: (form) => [
      preview(cardOf(pool, uuid) ?? card, sizeOf(form, size)),
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
    submit: async (data) => {
      const name = data.get('name').trim();
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

function sizeFrom(data) {
  return {
    memoryBytes: Math.round((Number(data.get('memory')) * GIB) / MIB) * MIB,
    computePercent: Number(data.get('compute')),
  };
}

export function resize(pool, uuid, name) {
  const card = cardOf(pool, uuid);
  const { partition } = card.partitions.find((part) => part.partition.ref.name === name);
  const rest = uncut(card);
  const room = {
    memoryBytes: rest.memoryBytes + partition.size.memoryBytes,
    computePercent: rest.computePercent + partition.size.computePercent,
  };
  openForm({
    title: `Resize partition ${placeOf(partition)}`,
    label: 'Resize',
    draw: (form) => [
      preview(resized(cardOf(pool, uuid) ?? card, name, sizeOf(form, partition.size))),
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
    submit: async (data) => {
      await call('PATCH', `${pathOf(partition)}?wait=${data.has('wait')}`, {
        headers: WHATEVER_STATE,
        body: { size: sizeFrom(data) },
      });
      say(`Partition ${name} was resized.`);
    },
  });
}

function resized(card, name, size) {
  return {
    ...card,
    partitions: card.partitions.map((part) =>
      part.partition.ref.name === name ? { ...part, partition: { ...part.partition, size } } : part,
    ),
  };
}

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

function pathOf({ ref }) {
  return ['partitions', ref.server, ref.gpu, ref.name]
    .map((part) => encodeURIComponent(part))
    .join('/');
}
