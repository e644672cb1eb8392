// SPDX-License-Identifier: Apache-2.0
import { equal, test } from './harness.js';
import {
  areaPath,
  linePath,
  runsOf,
  stack,
} from '../../../main/resources/io/gpupool/rest/page/js/parts/paths.js';

const SCALE = { x: (millis) => millis, y: (value) => 100 - value };

/** Returns a history with samples of ten milliseconds that end at these times. */
function history(...ends) {
  return { sampleMillis: 10, samples: ends.map((atMillis) => ({ atMillis, millis: 10 })) };
}

function constant(value) {
  return { of: () => value };
}

test('stack: each series stands on those before it', () => {
  const sums = stack([constant(1), constant(2)], history(10, 20, 30));
  equal(sums, [
    [1, 1, 1],
    [3, 3, 3],
  ]);
});

test('stack: nothing has no sums', () => {
  equal(stack([], history(10, 20)), []);
});

test('runsOf: samples one after the other are one run', () => {
  equal(runsOf(history(10, 20, 30)), [[0, 2]]);
});

test('runsOf: a missing sample ends a run', () => {
  equal(runsOf(history(10, 20, 50, 60, 90)), [
    [0, 1],
    [2, 3],
    [4, 4],
  ]);
});

test('runsOf: a sample that is a little late is no gap', () => {
  equal(runsOf(history(10, 24)), [[0, 1]]);
  equal(runsOf(history(10, 26)), [
    [0, 0],
    [1, 1],
  ]);
});

test('runsOf: no samples are no run', () => {
  equal(runsOf(history()), []);
});

test('linePath: a sample begins where the one before it ended', () => {
  const { samples } = history(10, 24);
  equal(linePath([0, 1], samples, SCALE, [5, 7]), 'M0.0 95.00L10.0 95.00L10.0 93.00L24.0 93.00');
});

test('areaPath: goes along the tops and back along the bottoms', () => {
  const { samples } = history(10, 20);
  equal(
    areaPath([0, 1], samples, SCALE, [5, 7], [1, 2]),
    'M0.0 95.00L10.0 95.00L10.0 93.00L20.0 93.00L20.0 98.00L10.0 98.00L10.0 99.00L0.0 99.00Z',
  );
});

test('areaPath: the lowest area stands on zero', () => {
  const { samples } = history(10);
  equal(
    areaPath([0, 0], samples, SCALE, [5], undefined),
    'M0.0 95.00L10.0 95.00L10.0 100.00L0.0 100.00Z',
  );
});
