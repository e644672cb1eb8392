// SPDX-License-Identifier: Apache-2.0
// Addresses within the page, such as "#/leases/L1".

/**
 * Splits an address into the name of a view and an id; the first name stands for unknown ones.
 *
 * @param {string} hash
 * @param {!Array<string>} names
 * @return {{name: string, id: string}}
 */
export function parseAddress(hash, names) {
  const [name, id = ''] = hash.replace(/^#\/?/, '').split('/').map(decode);
  return { name: names.includes(name) ? name : names[0], id };
}

/**
 * @param {string} part
 * @return {string}
 */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
