// SPDX-License-Identifier: Apache-2.0
// The samples of a GPU as series to be drawn: one for each of the leases that used most, and one
// for all others.

import { byName } from './cards.js';

/** So many colours can be told apart. */
const COLOURS = 8;
const OTHERS = '';
const NANOS_PER_MILLI = 1e6;

/**
 * The measures of a lease in a sample; those of time are in percent of the sample.
 */
export const MEASURES = {
  used: { field: 'usedGpuNanos', time: true },
  granted: { field: 'grantedGpuNanos', time: true },
  waited: { field: 'waitedNanos', time: true },
  memory: { field: 'usedMemoryBytes', time: false },
  grantedMemory: { field: 'grantedMemoryBytes', time: false },
};

/**
 * The colours of leases by GPU, so that a lease keeps its colour.
 *
 * @type {!Map<string, !Map<string, number>>}
 */
const given = new Map();

/**
 * Returns the series of a history in the order in which they are stacked: the leases that used
 * most, each with a colour, and all others as the last one.
 *
 * @param {!rest.GpuHistory} history
 * @return {!Array<!page.Series>}
 */
export function seriesOf(history) {
  /** @type {!Map<string, number>} */
  const totals = new Map();
  /** @type {!Array<!Map<string, !rest.HistoryPortion>>} */
  const at = history.samples.map((sample) => new Map(sample.leases.map((part) => [part.id, part])));
  for (const sample of history.samples) {
    for (const part of sample.leases) {
      totals.set(part.id, (totals.get(part.id) ?? 0) + weight(part));
    }
  }
  const most = [...totals.keys()]
    .filter((id) => id !== OTHERS)
    .sort((a, b) => totals.get(b) - totals.get(a) || byName(a, b))
    .slice(0, COLOURS);
  const colours = coloursOf(history.gpu, most);
  const named = new Map(history.leases.map((lease) => [lease.id, lease]));
  const series = most.sort(byName).map((id) => ({
    ...named.get(id),
    colour: colours.get(id),
    of: sumOver([id], history, at),
  }));
  const others = [...totals.keys()].filter((id) => !colours.has(id));
  if (others.length > 0) {
    series.push({ id: OTHERS, colour: 'others', of: sumOver(others, history, at) });
  }
  return series;
}

/**
 * Returns a function of a sample's number and a measure: the sum of what leases have in the sample.
 *
 * @param {!Array<string>} ids
 * @param {!rest.GpuHistory} history
 * @param {!Array<!Map<string, !rest.HistoryPortion>>} at
 * @return {function(number, !page.Measure): number}
 */
function sumOver(ids, { samples }, at) {
  return (number, { field, time }) => {
    const unit = time ? (samples[number].millis * NANOS_PER_MILLI) / 100 : 1;
    return ids.reduce((sum, id) => sum + (at[number].get(id)?.[field] ?? 0) / unit, 0);
  };
}

/**
 * Ranks leases: first by use; among leases that used nothing, by their grants.
 *
 * @param {!rest.HistoryPortion} part
 * @return {number}
 */
function weight(part) {
  return part.usedGpuNanos + part.grantedGpuNanos / 1e3 + part.usedMemoryBytes / 1e9;
}

/**
 * @param {string} gpu
 * @param {!Array<string>} ids
 * @return {!Map<string, number>}
 */
function coloursOf(gpu, ids) {
  const before = given.get(gpu) ?? new Map();
  const now = new Map(ids.filter((id) => before.has(id)).map((id) => [id, before.get(id)]));
  const free = [...Array(COLOURS).keys()].filter((colour) => ![...now.values()].includes(colour));
  ids.filter((id) => !now.has(id)).forEach((id) => now.set(id, free.shift()));
  given.set(gpu, now);
  return now;
}

/**
 * Returns the average over all samples, weighted by their length.
 *
 * @param {!page.Series} series
 * @param {!rest.GpuHistory} history
 * @param {!page.Measure} measure
 * @return {number}
 */
export function average(series, history, measure) {
  const millis = history.samples.reduce((sum, sample) => sum + sample.millis, 0);
  return (
    history.samples.reduce(
      (sum, sample, number) => sum + series.of(number, measure) * sample.millis,
      0,
    ) / Math.max(1, millis)
  );
}
