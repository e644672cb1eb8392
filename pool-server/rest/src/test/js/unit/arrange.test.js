// SPDX-License-Identifier: Apache-2.0
import { equal, test } from './harness.js';
import {
  compare,
  matching,
  sorted,
} from '../../../main/resources/io/gpupool/rest/page/js/parts/arrange.js';

const ROWS = [
  { id: 'L10', tenant: 'vision', bytes: 5 },
  { id: 'L9', tenant: 'Speech', bytes: 20 },
  { id: 'L2', tenant: 'vision', bytes: 5 },
];

function ids(rows) {
  return rows.map((row) => row.id).join(' ');
}

function found(text) {
  return ids(matching(ROWS, text, (row) => [row.id, row.tenant]));
}

test('matching: no text finds everything', () => {
  equal(found(''), 'L10 L9 L2');
  equal(found('  '), 'L10 L9 L2');
});

test('matching: all words must be there, in any case and order', () => {
  equal(found('VISION'), 'L10 L2');
  equal(found('vision l2'), 'L2');
  equal(found('speech'), 'L9');
  equal(found('speech vision'), '');
});

test('matching: a word may be a part of another', () => {
  equal(found('isio'), 'L10 L2');
});

test('sorted: names by the numbers in them', () => {
  equal(ids(sorted(ROWS, (row) => row.id, false)), 'L2 L9 L10');
  equal(ids(sorted(ROWS, (row) => row.id, true)), 'L10 L9 L2');
});

test('sorted: numbers by value', () => {
  equal(ids(sorted(ROWS, (row) => row.bytes, true)), 'L9 L10 L2');
});

test('sorted: equal rows keep their order, also downwards', () => {
  equal(ids(sorted(ROWS, (row) => row.tenant, false)), 'L9 L10 L2');
  equal(ids(sorted(ROWS, (row) => row.tenant, true)), 'L10 L2 L9');
});

test('sorted: leaves the rows that it was given as they are', () => {
  sorted(ROWS, (row) => row.id, false);
  equal(ids(ROWS), 'L10 L9 L2');
});

test('compare: no limit is above all limits', () => {
  equal(compare(Infinity, 5) > 0, true);
  equal(compare(-1000, 0) < 0, true);
});
