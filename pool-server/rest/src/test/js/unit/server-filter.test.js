// SPDX-License-Identifier: Apache-2.0
import { equal, test } from './harness.js';
import { isFound } from '../../../main/resources/io/gpupool/rest/page/js/views/server-filter.js';

const LEASE = { id: 'L7', tenant: 'Vision', holder: { user: 'ada', program: 'train', host: 'pc' } };
const CARDS = [
  { gpu: { server: 'node-1', name: 'NVIDIA L4' }, partitions: [], loose: [{ lease: LEASE }] },
  { gpu: { server: 'node-2', name: 'NVIDIA H100' }, partitions: [], loose: [] },
];

function found(text) {
  return ['node-1', 'node-2'].filter((name) => isFound({ name }, CARDS, text));
}

test('isFound: no text finds all', () => {
  equal(found(''), ['node-1', 'node-2']);
});

test('isFound: by the name of the server and the model of its GPUs', () => {
  equal(found('node-2'), ['node-2']);
  equal(found('h100'), ['node-2']);
  equal(found('nvidia'), ['node-1', 'node-2']);
});

test("isFound: by leases on its GPUs, and by nobody else's", () => {
  equal(found('vision'), ['node-1']);
  equal(found('ada'), ['node-1']);
  equal(found('l7'), ['node-1']);
});

test('isFound: a server without GPUs by its name alone', () => {
  equal(isFound({ name: 'empty' }, CARDS, 'empty'), true);
  equal(isFound({ name: 'empty' }, CARDS, 'vision'), false);
});
