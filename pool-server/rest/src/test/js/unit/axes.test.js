// SPDX-License-Identifier: Apache-2.0
// Runs in several time zones.
import { equal, ok, test } from './harness.js';
import {
  axisEnd,
  roundUp,
  timeTicks,
} from '../../../main/resources/io/gpupool/rest/page/js/parts/axes.js';

const MINUTE = 60e3;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 2, 14, 9, 26, 53);

test('axisEnd: is the limit, unless values are clearly above it', () => {
  equal(axisEnd(0, 100), 100);
  equal(axisEnd(100, 100), 100);
  equal(axisEnd(109, 100), 100);
  equal(axisEnd(111, 100), 200);
  equal(axisEnd(390, 100), 500);
});

test('roundUp: 1, 2 or 5 times a power of ten', () => {
  equal(roundUp(1), 1);
  equal(roundUp(1.01), 2);
  equal(roundUp(2), 2);
  equal(roundUp(3), 5);
  equal(roundUp(5.1), 10);
  equal(roundUp(0.03), 0.05);
  equal(roundUp(1000), 1000);
});

test('timeTicks: an hour has a tick every ten minutes', () => {
  const ticks = timeTicks({ nowMillis: NOW, windowMillis: HOUR });
  equal(ticks.length, 6);
  ticks.forEach((tick) => equal(new Date(tick).getMinutes() % 10, 0));
});

test('timeTicks: a day has a tick every four hours of the local day', () => {
  const ticks = timeTicks({ nowMillis: NOW, windowMillis: 24 * HOUR });
  equal(ticks.length, 6);
  for (const tick of ticks) {
    const date = new Date(tick);
    equal(date.getMinutes(), 0);
    equal(date.getHours() % 4, 0);
  }
});

test('timeTicks: lie in the window', () => {
  for (const windowMillis of [HOUR, 24 * HOUR]) {
    for (const tick of timeTicks({ nowMillis: NOW, windowMillis })) {
      ok(tick >= NOW - windowMillis && tick <= NOW, `${tick} is outside`);
    }
  }
});

test('timeTicks: a window that ends on a tick has ticks at both ends', () => {
  const [now] = timeTicks({ nowMillis: NOW, windowMillis: HOUR });
  const ticks = timeTicks({ nowMillis: now, windowMillis: HOUR });
  equal(ticks[0], now - HOUR);
  equal(ticks.at(-1), now);
});
