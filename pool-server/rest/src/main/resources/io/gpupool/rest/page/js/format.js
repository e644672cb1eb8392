// SPDX-License-Identifier: Apache-2.0
// Quantities in words for people.

/** The number from which on `short` would need a fourth digit. */
const LARGEST = 999.5;

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const GIB = 2 ** 30;
export const MIB = 2 ** 20;

/**
 * Returns at most three digits, without zeros at the end of a fraction.
 *
 * @param {number} number
 * @return {string}
 */
function short(number) {
  const digits = number >= 100 ? 0 : number >= 10 ? 1 : 2;
  return String(Number(number.toFixed(digits)));
}

/**
 * @param {number} count
 * @return {string}
 */
export function bytes(count) {
  let number = count;
  let unit = 0;
  while (number >= LARGEST && unit < UNITS.length - 1) {
    number /= 1024;
    unit++;
  }
  return `${short(number)} ${UNITS[unit]}`;
}

/**
 * Returns two sizes such as "1.2 of 4 GiB", with the unit once if both have the same.
 *
 * @param {number} used
 * @param {number} whole
 * @return {string}
 */
export function bytesOf(used, whole) {
  const [a, b] = [bytes(used), bytes(whole)];
  const unit = b.slice(b.indexOf(' '));
  return `${used === 0 ? '0' : a.endsWith(unit) ? a.slice(0, -unit.length) : a} of ${b}`;
}

/**
 * @param {number} number
 * @return {string}
 */
export function percent(number) {
  return `${number >= 10 ? Math.round(number) : Number(number.toFixed(1))} %`;
}

/**
 * @param {number} used
 * @param {number} whole
 * @return {string}
 */
export function percentOf(used, whole) {
  return `${percent(used).slice(0, -2)} of ${percent(whole)}`;
}

/**
 * @param {number} number
 * @return {string}
 */
export function count(number) {
  if (number < LARGEST) {
    return short(number);
  }
  return number < LARGEST * 1e3 ? `${short(number / 1e3)} k` : `${short(number / 1e6)} M`;
}

const UNITS_OF_TIME = [
  [DAY, 'd'],
  [HOUR, 'h'],
  [MINUTE, 'min'],
  [SECOND, 's'],
];

/**
 * Returns a time in its largest unit and, unless it is zero, the next smaller one.
 *
 * @param {number} millis
 * @return {string}
 */
export function duration(millis) {
  const at = UNITS_OF_TIME.findIndex(([size]) => millis >= size);
  if (at < 0) {
    return '0 s';
  }
  const [[large, name], [small, rest] = [0, '']] = UNITS_OF_TIME.slice(at);
  const more = small && Math.floor((millis % large) / small);
  return `${Math.floor(millis / large)} ${name}${more ? ` ${more} ${rest}` : ''}`;
}

/**
 * Returns GPU time, which begins with milliseconds.
 *
 * @param {number} count
 * @return {string}
 */
export function nanos(count) {
  return count < 1e9
    ? `${short(count / 1e6)} ms`
    : count < 6e10
      ? `${short(count / 1e9)} s`
      : duration(count / 1e6);
}

/**
 * Returns the time of day.
 *
 * @param {number} millis
 * @return {string}
 */
export function clock(millis) {
  return new Date(millis).toLocaleTimeString('en-GB');
}

/**
 * Returns the time of day, after the date unless that is today.
 *
 * @param {number} millis
 * @return {string}
 */
export function moment(millis) {
  const date = new Date(millis);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? clock(millis) : `${date.toLocaleDateString('en-CA')} ${clock(millis)}`;
}

/**
 * Returns the holder of a lease as user and host, such as "ada@pc".
 *
 * @param {!rest.Holder} who
 * @return {string}
 */
export function holder(who) {
  return who.user ? `${who.user}@${who.host}` : who.host;
}

/**
 * @param {number} number
 * @param {string} word
 * @param {string=} many
 * @return {string}
 */
export function plural(number, word, many = `${word}s`) {
  return `${number} ${number === 1 ? word : many}`;
}
