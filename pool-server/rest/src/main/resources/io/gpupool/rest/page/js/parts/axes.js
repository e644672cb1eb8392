// SPDX-License-Identifier: Apache-2.0
// The axes of a plot: where they end, and where their ticks are.

/** The distance of the time's ticks, by how long the time is. */
const TICKS = [
  [2 * 3600e3, 600e3],
  [Infinity, 4 * 3600e3],
];

/**
 * Returns the end of an axis: `top`, unless the highest value is clearly above it.
 *
 * @param {number} highest
 * @param {number} top
 * @return {number}
 */
export function axisEnd(highest, top) {
  return highest <= 1.1 * top ? top : roundUp(highest);
}

/**
 * Returns the next number that is 1, 2 or 5 times a power of ten.
 *
 * @param {number} value
 * @return {number}
 */
export function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find((digit) => digit * power >= value);
}

/**
 * Returns the times of the ticks, at full hours or minutes of the page's time zone.
 *
 * @param {{nowMillis: number, windowMillis: number}} history
 * @return {!Array<number>}
 */
export function timeTicks({ nowMillis, windowMillis }) {
  const apart = TICKS.find(([longest]) => windowMillis <= longest)[1];
  const shift = new Date(nowMillis).getTimezoneOffset() * 60e3;
  const ticks = [];
  const from = nowMillis - windowMillis;
  for (let at = Math.ceil((from - shift) / apart) * apart + shift; at <= nowMillis; at += apart) {
    ticks.push(at);
  }
  return ticks;
}
