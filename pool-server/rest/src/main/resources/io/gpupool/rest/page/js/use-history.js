// SPDX-License-Identifier: Apache-2.0
// What GPUs were used for, as their servers keep it; asked for again as long as it is looked at.

import { call } from './api.js';

const LATE_MILLIS = { hour: 10_000, day: 60_000 };
const REFUSED_MILLIS = 60_000;

/** @type {!Map<string, !page.KnownHistory>} */
const known = new Map();

/**
 * Returns the known history of a GPU in the last `hour` or `day`, or the reason why it is missing;
 * neither is set until the first answer. Calls `redraw` when there is more.
 *
 * @param {!rest.Gpu} gpu
 * @param {string} back
 * @param {function(): void} redraw
 * @return {!page.KnownHistory}
 */
export function historyOf(gpu, back, redraw) {
  const key = `${gpu.uuid} ${back}`;
  if (!known.has(key)) {
    known.set(key, { againAt: 0 });
  }
  const entry = known.get(key);
  if (Date.now() >= entry.againAt) {
    entry.againAt = Infinity;
    ask(entry, gpu, back).then(redraw);
  }
  return entry;
}

/**
 * @param {!page.KnownHistory} entry
 * @param {!rest.Gpu} gpu
 * @param {string} back
 * @return {!Promise<void>}
 */
async function ask(entry, gpu, back) {
  try {
    const path = `gpus/${encodeURIComponent(gpu.uuid)}/history?window=${back}`;
    entry.history = await call('GET', path);
    entry.fault = undefined;
    entry.againAt = Date.now() + LATE_MILLIS[back];
  } catch (error) {
    entry.fault = error.message;
    entry.againAt = Date.now() + REFUSED_MILLIS;
  }
}
