// SPDX-License-Identifier: Apache-2.0
import { equal, test } from './harness.js';
import {
  average,
  MEASURES,
  seriesOf,
} from '../../../main/resources/io/gpupool/rest/page/js/series.js';

/** The part of a lease that used so many percent of a second. */
function portion(id, percent, more = {}) {
  return {
    id,
    usedGpuNanos: percent * 1e7,
    grantedGpuNanos: 0,
    waitedNanos: 0,
    usedMemoryBytes: 0,
    grantedMemoryBytes: 0,
    ...more,
  };
}

function sample(...leases) {
  return { atMillis: 0, millis: 1000, leases };
}

function history(gpu, ...samples) {
  const ids = new Set(samples.flatMap(({ leases }) => leases.map(({ id }) => id)));
  const leases = [...ids].map((id) => ({ id, tenant: 'vision', program: 'train', holder: 'pc' }));
  return { gpu, leases: leases.filter(({ id }) => id !== ''), samples };
}

function ids(series) {
  return series.map(({ id }) => id);
}

test('seriesOf: nothing has no series', () => {
  equal(seriesOf(history('none')), []);
  equal(seriesOf(history('none', sample())), []);
});

test('seriesOf: time is in percent of the sample, memory in bytes', () => {
  const [one] = seriesOf(history('measures', sample(portion('L1', 25, { usedMemoryBytes: 7 }))));
  equal(one.of(0, MEASURES.used), 25);
  equal(one.of(0, MEASURES.memory), 7);
  equal(one.tenant, 'vision');
});

test('seriesOf: a lease that is not in a sample has nothing there', () => {
  const [one] = seriesOf(history('absent', sample(portion('L1', 25)), sample()));
  equal(one.of(1, MEASURES.used), 0);
});

test('seriesOf: in the order of the leases', () => {
  const series = seriesOf(history('order', sample(portion('L10', 50), portion('L9', 1))));
  equal(ids(series), ['L9', 'L10']);
});

test('seriesOf: leases that used least are the others, with those that the server summed up', () => {
  const portions = [...Array(10).keys()].map((i) => portion(`L${i}`, 10 - i));
  const series = seriesOf(history('others', sample(...portions, portion('', 3))));
  equal(series.length, 9);
  const others = series.at(-1);
  equal([others.id, others.colour], ['', 'others']);
  equal(others.of(0, MEASURES.used), 2 + 1 + 3);
});

test('seriesOf: of leases that used nothing, those with the larger grants have colours', () => {
  const portions = [...Array(9).keys()].map((i) =>
    portion(`L${i}`, 0, { grantedGpuNanos: i * 1e6 }),
  );
  const series = seriesOf(history('idle', sample(...portions)));
  equal(ids(series), ['L1', 'L2', 'L3', 'L4', 'L5', 'L6', 'L7', 'L8', '']);
});

test('seriesOf: a lease keeps its colour when others come and go', () => {
  const colour = (series, id) => series.find((one) => one.id === id).colour;
  const first = seriesOf(history('colours', sample(portion('L1', 5), portion('L2', 9))));
  const second = seriesOf(history('colours', sample(portion('L2', 5), portion('L3', 9))));
  equal(colour(second, 'L2'), colour(first, 'L2'));
  equal(colour(second, 'L3'), colour(first, 'L1'));
});

test('average: each sample counts as long as it was', () => {
  const samples = [sample(portion('L1', 100)), { ...sample(portion('L1', 0)), millis: 3000 }];
  const all = history('average', ...samples);
  equal(average(seriesOf(all)[0], all, MEASURES.used), 25);
});

test('average: of no samples it is zero', () => {
  equal(average({ of: () => 5 }, history('empty'), MEASURES.used), 0);
});
