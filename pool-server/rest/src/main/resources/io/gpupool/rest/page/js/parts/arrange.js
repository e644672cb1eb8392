// SPDX-License-Identifier: Apache-2.0
// The rows of a table, filtered and sorted.

/**
 * Returns the rows that contain all words of a text, in any case and order.
 *
 * @param {!Array<T>} rows
 * @param {string} text
 * @param {function(T): !Array<string>} filter
 * @return {!Array<T>}
 * @template T
 */
export function matching(rows, text, filter) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    const all = filter(row).join(' ').toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/**
 * Returns the rows by a column's order; rows that are equal in it keep their order.
 *
 * @param {!Array<T>} rows
 * @param {function(T): (number|string)} order
 * @param {boolean} isDown
 * @return {!Array<T>}
 * @template T
 */
export function sorted(rows, order, isDown) {
  const sign = isDown ? -1 : 1;
  return [...rows].sort((a, b) => compare(order(a), order(b)) * sign);
}

/**
 * Compares numbers by value, and anything else as text in which L9 comes before L10.
 *
 * @param {(number|string)} a
 * @param {(number|string)} b
 * @return {number}
 */
export function compare(a, b) {
  return typeof a === 'number' && typeof b === 'number'
    ? a - b
    : String(a).localeCompare(String(b), 'en', { numeric: true });
}
