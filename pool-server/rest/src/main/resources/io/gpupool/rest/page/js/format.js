// SPDX-License-Identifier: Apache-2.0
// Quantities in words for people.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const GIB = 2 ** 30;
export const MIB = 2 ** 20;

/** Three digits at most, none of them an idle zero. */
function short(number) {
  const digits = number >= 100 ? 0 : number >= 10 ? 1 : 2;
  return String(Number(number.toFixed(digits)));
}

export function bytes(count) {
  let number = count;
  let unit = 0;
  while (number >= 1000 && unit < UNITS.length - 1) {
    number /= 1024;
    unit++;
  }
  return `${short(number)} ${UNITS[unit]}`;
}

/** "1.2 of 4 GiB": the unit once if both have the same. */
export function bytesOf(used, whole) {
  const [a, b] = [bytes(used), bytes(whole)];
  const unit = b.slice(b.indexOf(' '));
  return `${used === 0 ? '0' : a.endsWith(unit) ? a.slice(0, -unit.length) : a} of ${b}`;
}

export function percent(number) {
  return `${number >= 10 ? Math.round(number) : Number(number.toFixed(1))} %`;
}

export function percentOf(used, whole) {
  return `${percent(used).slice(0, -2)} of ${percent(whole)}`;
}

export function count(number) {
  if (number < 1000) {
    return short(number);
  }
  return number < 1e6 ? `${short(number / 1e3)} k` : `${short(number / 1e6)} M`;
}

const UNITS_OF_TIME = [
  [DAY, 'd'],
  [HOUR, 'h'],
  [MINUTE, 'min'],
  [SECOND, 's'],
];

/** The two largest units, of which the smaller may be none. */
export function duration(millis) {
  const at = UNITS_OF_TIME.findIndex(([size]) => millis >= size);
  if (at < 0) {
    return '0 s';
  }
  const [[large, name], [small, rest] = [0, '']] = UNITS_OF_TIME.slice(at);
  const more = small && Math.floor((millis % large) / small);
  return `${Math.floor(millis / large)} ${name}${more ? ` ${more} ${rest}` : ''}`;
}

/** Times of GPUs, which are short at first. */
export function nanos(count) {
  return count < 1e9
    ? `${short(count / 1e6)} ms`
    : count < 6e10
      ? `${short(count / 1e9)} s`
      : duration(count / 1e6);
}

export function clock(millis) {
  return new Date(millis).toLocaleTimeString('en-GB');
}

/** The day as well, unless it is today. */
export function moment(millis) {
  const date = new Date(millis);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? clock(millis) : `${date.toLocaleDateString('en-CA')} ${clock(millis)}`;
}

/** "ada@pc": who holds a lease, and where. */
export function holder(who) {
  return who.user ? `${who.user}@${who.host}` : who.host;
}

export function plural(number, word, many = `${word}s`) {
  return `${number} ${number === 1 ? word : many}`;
}
