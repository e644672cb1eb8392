// SPDX-License-Identifier: Apache-2.0
import { equal, ok, test } from './harness.js';
import { placeOf, tell } from '../../../main/resources/io/gpupool/rest/page/js/history.js';

const GIB = 2 ** 30;
const HOLDER = { host: 'pc', user: 'ada', pid: 7, program: 'train' };
const PART = {
  ref: { server: 'a', gpu: 0, name: 'left' },
  size: { memoryBytes: 2 * GIB, computePercent: 25 },
  leaving: false,
};
const LEASE = {
  id: 'L1',
  state: 'held',
  holder: HOLDER,
  grants: [
    { grant: { server: 'a', gpu: 0, memoryBytes: GIB, computePercent: 12.5 } },
    { grant: { server: 'b', gpu: 1, memoryBytes: GIB, computePercent: 50 } },
  ],
};

test('tell: a grant names its holder and all shares', () => {
  const text = tell('leases', 'added', undefined, LEASE);
  ok(text.includes('L1') && text.includes('train of ada@pc'), text);
  ok(text.endsWith('1 GiB and 13 % of a/0, 1 GiB and 50 % of b/1'), text);
});

test('tell: figures that only grow are no event', () => {
  ok(!tell('leases', 'changed', LEASE, { ...LEASE, ageMillis: 5 }));
  ok(!tell('gpus', 'changed', {}, {}));
});

test('tell: a lease that lost its holder is one', () => {
  ok(tell('leases', 'changed', LEASE, { ...LEASE, state: 'grace' }).includes('holder'));
});

test('tell: a resource that a new stream adds again is told of as changed', () => {
  ok(!tell('leases', 'added', LEASE, LEASE));
  ok(tell('leases', 'added', LEASE, { ...LEASE, state: 'ending' }).includes('being ended'));
});

test('tell: a change of something unknown is no event', () => {
  ok(!tell('leases', 'changed', undefined, LEASE));
});

test('tell: a partition is resized, or leaves', () => {
  const larger = { ...PART, size: { memoryBytes: 4 * GIB, computePercent: 25 } };
  ok(tell('partitions', 'changed', PART, larger).endsWith('from 2 GiB, 25 % to 4 GiB, 25 %'));
  ok(tell('partitions', 'changed', PART, { ...PART, leaving: true }).includes('last lease'));
  ok(!tell('partitions', 'changed', { ...PART, leaving: true }, { ...PART, leaving: true }));
});

test('tell: a session tells that its connection is lost, and that it is back', () => {
  const attached = { leaseId: 'L1', client: HOLDER, lastError: '', state: 'attached' };
  const lost = { ...attached, state: 'disconnected' };
  ok(tell('sessions', 'changed', attached, lost).includes('lost its connection'));
  ok(!tell('sessions', 'changed', lost, lost));
  ok(tell('sessions', 'changed', lost, attached).includes('is connected again'));
  ok(!tell('sessions', 'changed', lost, { ...lost, state: 'ending' }));
});

test('tell: a session tells of a new error once', () => {
  const session = { leaseId: 'L1', client: HOLDER, lastError: '' };
  const failed = { ...session, lastError: 'CUDA_ERROR_OUT_OF_MEMORY' };
  ok(tell('sessions', 'changed', session, failed).includes('CUDA_ERROR_OUT_OF_MEMORY'));
  ok(!tell('sessions', 'changed', failed, failed));
  ok(!tell('sessions', 'changed', failed, session));
});

test('placeOf: server, GPU and name', () => {
  equal(placeOf(PART), 'a/0/left');
});
