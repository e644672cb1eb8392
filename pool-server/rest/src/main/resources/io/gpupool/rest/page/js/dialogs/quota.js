// SPDX-License-Identifier: Apache-2.0
// The quota that a form describes.

import { GIB } from '../format.js';

/**
 * Returns the quota of a form, in which an empty field means no limit.
 *
 * @param {(!FormData|!Map<string, string>)} data
 * @return {!rest.Quota}
 */
export function quotaFrom(data) {
  const gpus = amount(data, 'gpus');
  const memory = amount(data, 'memory');
  const leases = amount(data, 'leases');
  const maxPriority = amount(data, 'priority');
  return {
    ...(gpus !== undefined && { gpus }),
    ...(memory !== undefined && { memoryBytes: Math.round(memory * GIB) }),
    ...(leases !== undefined && { leases }),
    ...(maxPriority !== undefined && { maxPriority }),
  };
}

/**
 * @param {(!FormData|!Map<string, string>)} data
 * @param {string} name
 * @return {(number|undefined)}
 */
function amount(data, name) {
  const text = data.get(name);
  return text === '' ? undefined : Number(text);
}
