// SPDX-License-Identifier: Apache-2.0
import { clock } from './browser.js';
import { equal, test } from './harness.js';
import {
  bytes,
  bytesOf,
  clock as timeOfDay,
  count,
  duration,
  GIB,
  holder,
  MIB,
  moment,
  nanos,
  percent,
  percentOf,
  plural,
} from '../../../main/resources/io/gpupool/rest/page/js/format.js';

test('bytes: each unit has at most three digits', () => {
  equal(bytes(0), '0 B');
  equal(bytes(1), '1 B');
  equal(bytes(999), '999 B');
  equal(bytes(1000), '0.98 KiB');
  equal(bytes(1024), '1 KiB');
  equal(bytes(1536), '1.5 KiB');
  equal(bytes(10.26 * MIB), '10.3 MiB');
  equal(bytes(768 * MIB), '768 MiB');
  equal(bytes(2 * GIB), '2 GiB');
});

test('bytes: a number that rounds to 1000 takes the next unit', () => {
  equal(bytes(999.4 * MIB), '999 MiB');
  equal(bytes(999.6 * MIB), '0.98 GiB');
});

test('bytes: there is no unit above PiB', () => {
  equal(bytes(3 * 2 ** 50), '3 PiB');
  equal(bytes(5000 * 2 ** 50), '5000 PiB');
});

test('bytesOf: the unit stands once if both have the same', () => {
  equal(bytesOf(1.25 * GIB, 4 * GIB), '1.25 of 4 GiB');
  equal(bytesOf(512 * MIB, 4 * GIB), '512 MiB of 4 GiB');
});

test('bytesOf: nothing has no unit', () => {
  equal(bytesOf(0, 4 * GIB), '0 of 4 GiB');
  equal(bytesOf(0, 0), '0 of 0 B');
});

test('percent: below ten it has one digit after the point', () => {
  equal(percent(0), '0 %');
  equal(percent(0.04), '0 %');
  equal(percent(2.54), '2.5 %');
  equal(percent(9.96), '10 %');
  equal(percent(33.4), '33 %');
  equal(percent(100), '100 %');
});

test('percentOf: the sign stands once', () => {
  equal(percentOf(7.25, 50), '7.3 of 50 %');
  equal(percentOf(0, 12.5), '0 of 13 %');
});

test('count: thousands and millions', () => {
  equal(count(0), '0');
  equal(count(0.5), '0.5');
  equal(count(999), '999');
  equal(count(1000), '1 k');
  equal(count(12345), '12.3 k');
  equal(count(2.5e6), '2.5 M');
});

test('count: a number that rounds to 1000 takes the next unit', () => {
  equal(count(999.7), '1 k');
  equal(count(999_700), '1 M');
});

test('duration: the two largest units', () => {
  equal(duration(999), '0 s');
  equal(duration(1000), '1 s');
  equal(duration(61_000), '1 min 1 s');
  equal(duration(3_599_999), '59 min 59 s');
  equal(duration(26 * 3600e3), '1 d 2 h');
});

test('duration: a smaller unit that is zero is left out', () => {
  equal(duration(60_000), '1 min');
  equal(duration(3600e3 + 5000), '1 h');
  equal(duration(24 * 3600e3), '1 d');
});

test('duration: clocks that differ make no negative time', () => {
  equal(duration(-5000), '0 s');
});

test('nanos: short times have fractions', () => {
  equal(nanos(0), '0 ms');
  equal(nanos(1_500_000), '1.5 ms');
  equal(nanos(2.5e9), '2.5 s');
  equal(nanos(61e9), '1 min 1 s');
});

test('moment: today has no date', () => {
  equal(moment(clock.start), timeOfDay(clock.start));
  equal(moment(clock.start - 24 * 3600e3), `2026-03-13 ${timeOfDay(clock.start - 24 * 3600e3)}`);
});

test('holder: without a user it is the host', () => {
  const program = { pid: 7, program: 'train' };
  equal(holder({ ...program, user: 'ada', host: 'pc' }), 'ada@pc');
  equal(holder({ ...program, user: '', host: 'pc' }), 'pc');
});

test('plural: one is singular, zero is not', () => {
  equal(plural(0, 'lease'), '0 leases');
  equal(plural(1, 'lease'), '1 lease');
  equal(plural(2, 'GPU'), '2 GPUs');
  equal(plural(3, 'entry', 'entries'), '3 entries');
});
