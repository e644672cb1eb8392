// SPDX-License-Identifier: Apache-2.0
// The samples of a GPU as series to be drawn: one for each of the leases that used most, and one for
// all others.

import { byName } from './cards.js';

/** So many colours can be told apart. */
const COLOURS = 8;
const OTHERS = '';
const SECOND_NANOS = 1e6;

/** What is drawn: how it is read from a lease's part of a sample, `time` in percent of the sample. */
export const MEASURES = {
  used: { field: 'usedGpuNanos', time: true },
  granted: { field: 'grantedGpuNanos', time: true },
  waited: { field: 'waitedNanos', time: true },
  memory: { field: 'usedMemoryBytes', time: false },
  grantedMemory: { field: 'grantedMemoryBytes', time: false },
};

/** The colours that leases have, by GPU, so that a lease keeps its own. */
const given = new Map();

/**
 * Leases in the order in which they are stacked: {id, tenant, program, holder, colour, of}, `of` being
 * a function of the sample's number and a measure. Those without a colour are in the last one.
 */
export function seriesOf(history) {
  const totals = new Map();
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
  const value = (part, sample, { field, time }) =>
    time ? (100 * part[field]) / (sample.millis * SECOND_NANOS) : part[field];
  const series = most.sort(byName).map((id) => ({
    ...named.get(id),
    colour: colours.get(id),
    of: (number, measure) => {
      const part = at[number].get(id);
      return part ? value(part, history.samples[number], measure) : 0;
    },
  }));
  const rest = [...totals.keys()].filter((id) => !colours.has(id));
  if (rest.length > 0) {
    series.push({
      id: OTHERS,
      colour: 'others',
      of: (number, measure) =>
        rest
          .map((id) => at[number].get(id))
          .filter(Boolean)
          .reduce((sum, part) => sum + value(part, history.samples[number], measure), 0),
    });
  }
  return series;
}

/** Who used most has a colour; of those who used nothing, who was granted most. */
function weight(part) {
  return part.usedGpuNanos + part.grantedGpuNanos / 1e3 + part.usedMemoryBytes / 1e9;
}

function coloursOf(gpu, ids) {
  const before = given.get(gpu) ?? new Map();
  const now = new Map(ids.filter((id) => before.has(id)).map((id) => [id, before.get(id)]));
  const free = [...Array(COLOURS).keys()].filter((colour) => ![...now.values()].includes(colour));
  ids.filter((id) => !now.has(id)).forEach((id) => now.set(id, free.shift()));
  given.set(gpu, now);
  return now;
}

/** The average over all samples, each counting as long as it was. */
export function average(series, history, measure) {
  const millis = history.samples.reduce((sum, sample) => sum + sample.millis, 0);
  return (
    history.samples.reduce(
      (sum, sample, number) => sum + series.of(number, measure) * sample.millis,
      0,
    ) / Math.max(1, millis)
  );
}
