// SPDX-License-Identifier: Apache-2.0
import { equal, ok, test } from './harness.js';
import {
  initialSize,
  largestSize,
  resized,
  sizeFrom,
} from '../../../main/resources/io/gpupool/rest/page/js/dialogs/partition-size.js';
import { quotaFrom } from '../../../main/resources/io/gpupool/rest/page/js/dialogs/quota.js';
import { timeline } from '../../../main/resources/io/gpupool/rest/page/js/dialogs/timeline.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

function form(fields) {
  return new Map(Object.entries(fields));
}

function partition(name, memoryBytes, computePercent) {
  return { ref: { name }, size: { memoryBytes, computePercent } };
}

function card(memoryBytes, ...partitions) {
  return {
    gpu: { memoryBytes },
    partitions: partitions.map((each) => ({ partition: each, shares: [] })),
    loose: [],
  };
}

test('sizeFrom: memory is in GiB, rounded to MiB', () => {
  equal(sizeFrom(form({ memory: '1.5', compute: '12.5' })), {
    memoryBytes: 1536 * MIB,
    computePercent: 12.5,
  });
  equal(sizeFrom(form({ memory: '0.3333', compute: '1' })).memoryBytes, 341 * MIB);
});

test('sizeFrom: what the field shows of a size is that size', () => {
  for (const memoryBytes of [MIB, 341 * MIB, 1023 * MIB, 24 * GIB - MIB]) {
    const memory = String(Number((memoryBytes / GIB).toFixed(4)));
    equal(sizeFrom(form({ memory, compute: '1' })).memoryBytes, memoryBytes);
  }
});

test('initialSize: half of a GPU, in whole MiB', () => {
  equal(initialSize(card(3 * MIB)), { memoryBytes: MIB, computePercent: 50 });
});

test('initialSize: the free rest, if that is less than half', () => {
  equal(initialSize(card(8 * GIB, partition('left', 6 * GIB, 70))), {
    memoryBytes: 2 * GIB,
    computePercent: 30,
  });
  equal(initialSize(card(8 * GIB, partition('left', 8 * GIB, 100))), {
    memoryBytes: 0,
    computePercent: 0,
  });
});

test('largestSize: the partition and the free rest', () => {
  const left = partition('left', 2 * GIB, 25);
  equal(largestSize(card(8 * GIB, left, partition('right', 4 * GIB, 50)), left), {
    memoryBytes: 4 * GIB,
    computePercent: 50,
  });
});

test('resized: changes one partition, and leaves the card that it was given as it is', () => {
  const before = card(8 * GIB, partition('left', GIB, 10), partition('right', GIB, 10));
  const size = { memoryBytes: 2 * GIB, computePercent: 20 };
  const after = resized(before, 'left', size);
  equal(
    after.partitions.map((part) => part.partition.size.computePercent),
    [20, 10],
  );
  equal(before.partitions[0].partition.size.computePercent, 10);
});

test('quotaFrom: an empty field limits nothing, zero does', () => {
  equal(quotaFrom(form({ gpus: '', memory: '', leases: '', priority: '' })), {});
  equal(quotaFrom(form({ gpus: '0', memory: '0', leases: '0', priority: '0' })), {
    gpus: 0,
    memoryBytes: 0,
    leases: 0,
    maxPriority: 0,
  });
});

test('quotaFrom: memory is in GiB, and a priority may be negative', () => {
  equal(quotaFrom(form({ gpus: '0.5', memory: '1.5', leases: '', priority: '-5' })), {
    gpus: 0.5,
    memoryBytes: 1.5 * GIB,
    maxPriority: -5,
  });
});

const EVENTS = [
  { number: 4, at: 40, kind: 'leases', id: 'L1', text: 'Lease L1 ended' },
  { number: 3, at: 30, kind: 'sessions', id: 's', text: 'train began a session on lease L10' },
  { number: 2, at: 20, kind: 'sessions', id: 's', text: 'train began a session on lease L1' },
  { number: 1, at: 10, kind: 'leases', id: 'L1', text: 'Lease L1 was granted to train of ada@pc' },
];

test('timeline: without an audit log it is what the page has seen, the latest first', () => {
  const all = timeline(EVENTS, [], 'L1');
  equal(
    all.map(({ key }) => key),
    ['4', '2', '1'],
  );
});

test('timeline: with an audit log, the grant and the end come from that', () => {
  const lines = [
    { id: 'A1', atMillis: 9, actor: 'ada', action: 'lease.grant', detail: 'train' },
    { id: 'A2', atMillis: 41, actor: 'pool', action: 'lease.end', detail: 'it was idle' },
  ];
  const all = timeline(EVENTS, lines, 'L1');
  equal(
    all.map(({ key }) => key),
    ['A2', '2', 'A1'],
  );
  ok(all[2].text.endsWith('train, by ada'), all[2].text);
});

test('timeline: an action that it does not know has its own name', () => {
  const line = { id: 'A1', atMillis: 9, actor: 'ada', action: 'lease.move', detail: 'to b' };
  equal(timeline([], [line], 'L1')[0].text, 'lease.move to b, by ada');
});
