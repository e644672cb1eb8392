// SPDX-License-Identifier: Apache-2.0
// The samples of a history as paths of a drawing: stacked, and interrupted where samples are
// missing.

/**
 * Returns for each series the sums of it and of all before it, sample by sample.
 *
 * @param {!Array<!page.Series>} series
 * @param {!rest.GpuHistory} history
 * @param {!page.Measure} measure
 * @return {!Array<!Array<number>>}
 */
export function stack(series, history, measure) {
  const sums = [];
  series.forEach((one, at) => {
    sums.push(
      history.samples.map((_, number) => (sums[at - 1]?.[number] ?? 0) + one.of(number, measure)),
    );
  });
  return sums;
}

/**
 * Returns the runs of samples without a gap, as the numbers of their first and last samples.
 *
 * @param {!rest.GpuHistory} history
 * @return {!Array<!Array<number>>}
 */
export function runsOf({ samples, sampleMillis }) {
  const runs = [];
  samples.forEach((sample, number) => {
    const before = samples[number - 1];
    if (before && sample.atMillis - sample.millis <= before.atMillis + sampleMillis / 2) {
      runs.at(-1)[1] = number;
    } else {
      runs.push([number, number]);
    }
  });
  return runs;
}

/**
 * Returns the outline of a run as steps: along the tops, and back along the bottoms.
 *
 * @param {!Array<number>} run
 * @param {!Array<!rest.HistorySample>} samples
 * @param {!page.PlotScale} scale
 * @param {!Array<number>} tops
 * @param {(!Array<number>|undefined)} bottoms
 * @return {string}
 */
export function areaPath(run, samples, scale, tops, bottoms) {
  const there = steps(run, samples, scale, tops);
  const back = steps(run, samples, scale, bottoms).reverse();
  return `M${[...there, ...back].join('L')}Z`;
}

/**
 * Returns the values of a run as steps.
 *
 * @param {!Array<number>} run
 * @param {!Array<!rest.HistorySample>} samples
 * @param {!page.PlotScale} scale
 * @param {!Array<number>} values
 * @return {string}
 */
export function linePath(run, samples, scale, values) {
  return `M${steps(run, samples, scale, values).join('L')}`;
}

/**
 * Returns two points for each sample. A sample begins where the one before it ended, so that
 * rounding leaves no cracks.
 *
 * @param {!Array<number>} run
 * @param {!Array<!rest.HistorySample>} samples
 * @param {!page.PlotScale} scale
 * @param {(!Array<number>|undefined)} values
 * @return {!Array<string>}
 */
function steps([first, last], samples, scale, values) {
  const points = [];
  let begin = samples[first].atMillis - samples[first].millis;
  for (let number = first; number <= last; number++) {
    const end = samples[number].atMillis;
    const height = scale.y(values?.[number] ?? 0).toFixed(2);
    points.push(`${scale.x(begin).toFixed(1)} ${height}`, `${scale.x(end).toFixed(1)} ${height}`);
    begin = end;
  }
  return points;
}
