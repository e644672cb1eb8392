// SPDX-License-Identifier: Apache-2.0
import { equal, test } from './harness.js';
import {
  facts,
  withDeclared,
} from '../../../main/resources/io/gpupool/rest/page/js/parts/columns.js';

const DECLARED = [
  { field: 'state', head: 'State', unit: 'unspecified', number: false, grows: false },
  { field: 'priority', head: 'Priority', unit: 'unspecified', number: true, grows: false },
  { field: 'memoryBytes', head: 'Memory', unit: 'bytes', number: true, grows: false },
  { field: 'ageMillis', head: 'Age', unit: 'millis', number: true, grows: true },
];
const ROW = { state: 'held', priority: 1200, memoryBytes: 2 ** 30, ageMillis: 1000 };

function age(resource, field) {
  return resource[field] + 60_000;
}

test('withDeclared: named columns stand in their places, others before the actions', () => {
  const columns = withDeclared(DECLARED, age, [
    { head: 'Id', cell: () => 'L1' },
    'Age',
    'State',
    { head: 'Actions', action: true, cell: () => '' },
  ]);
  equal(
    columns.map((column) => column.head),
    ['Id', 'Age', 'State', 'Priority', 'Memory', 'Actions'],
  );
});

test('withDeclared: cells have the form of their units', () => {
  const columns = withDeclared(DECLARED, age, []);
  equal(
    columns.map((column) => column.cell(ROW)),
    ['held', '1200', '1 GiB', '1 min 1 s'],
  );
  equal(
    columns.map((column) => column.class),
    [undefined, 'number', 'number', 'number'],
  );
});

test('withDeclared: rows are ordered by values', () => {
  const columns = withDeclared(DECLARED, age, []);
  equal(
    columns.map((column) => column.order(ROW)),
    ['held', 1200, 2 ** 30, 61_000],
  );
});

test('facts: absent values are left out', () => {
  equal(facts(DECLARED, { state: 'held', ageMillis: 0 }, () => 60_000), ['state held', 'age 1 min']);
});
