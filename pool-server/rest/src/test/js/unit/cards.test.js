// SPDX-License-Identifier: Apache-2.0
import { equal, test } from './harness.js';
import { cards, sharesOf, uncut } from '../../../main/resources/io/gpupool/rest/page/js/cards.js';

const GIB = 2 ** 30;

function gpu(server, ordinal) {
  return { server, gpu: ordinal, memoryBytes: 8 * GIB };
}

function partition(server, ordinal, name, gib, computePercent) {
  return { ref: { server, gpu: ordinal, name }, size: { memoryBytes: gib * GIB, computePercent } };
}

function lease(id, ...grants) {
  return {
    id,
    grants: grants.map(([server, ordinal, name, gib, computePercent]) => ({
      grant: { server, gpu: ordinal, partition: name, memoryBytes: gib * GIB, computePercent },
    })),
  };
}

function pool(gpus, partitions, leases) {
  return { gpus: () => gpus, partitions: () => partitions, leases: () => leases };
}

function ids(shares) {
  return shares.map((share) => share.lease.id).join(' ');
}

test('cards: in the order of servers and ordinals, by their numbers', () => {
  const all = cards(pool([gpu('node-10', 0), gpu('node-2', 1), gpu('node-2', 0)], [], []));
  equal(
    all.map((card) => `${card.gpu.server}/${card.gpu.gpu}`),
    ['node-2/0', 'node-2/1', 'node-10/0'],
  );
});

test('cards: a lease is in its partition, or loose', () => {
  const [card] = cards(
    pool(
      [gpu('a', 0)],
      [partition('a', 0, 'right', 2, 25), partition('a', 0, 'left', 2, 25)],
      [
        lease('L10', ['a', 0, '', 1, 10]),
        lease('L9', ['a', 0, '', 1, 10]),
        lease('L2', ['a', 0, 'left', 1, 10]),
      ],
    ),
  );
  equal(
    card.partitions.map((part) => part.partition.ref.name),
    ['left', 'right'],
  );
  equal(ids(card.partitions[0].shares), 'L2');
  equal(ids(card.loose), 'L9 L10');
  equal(ids(sharesOf(card)), 'L2 L9 L10');
});

test('cards: a lease over two GPUs is on both', () => {
  const all = cards(
    pool([gpu('a', 0), gpu('b', 0)], [], [lease('L1', ['a', 0, '', 1, 10], ['b', 0, '', 1, 10])]),
  );
  equal(
    all.map((card) => ids(card.loose)),
    ['L1', 'L1'],
  );
});

test('cards: what lies on a GPU that is not there is left out', () => {
  const all = cards(
    pool([gpu('a', 0)], [partition('b', 0, 'x', 1, 1)], [lease('L1', ['b', 0, '', 1, 10])]),
  );
  equal(all.length, 1);
  equal(sharesOf(all[0]), []);
});

test('cards: a lease whose partition is not known yet is loose', () => {
  const [card] = cards(pool([gpu('a', 0)], [], [lease('L1', ['a', 0, 'left', 1, 10])]));
  equal(ids(card.loose), 'L1');
});

test('uncut: what partitions and loose leases leave, whatever is leased in partitions', () => {
  const [card] = cards(
    pool(
      [gpu('a', 0)],
      [partition('a', 0, 'left', 4, 50)],
      [lease('L1', ['a', 0, 'left', 2, 25]), lease('L2', ['a', 0, '', 1, 12.5])],
    ),
  );
  equal(uncut(card), { memoryBytes: 3 * GIB, computePercent: 37.5 });
});

test('uncut: is never below zero', () => {
  const [card] = cards(pool([gpu('a', 0)], [partition('a', 0, 'left', 9, 101)], []));
  equal(uncut(card), { memoryBytes: 0, computePercent: 0 });
});
