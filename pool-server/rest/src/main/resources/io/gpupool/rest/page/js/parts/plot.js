// SPDX-License-Identifier: Apache-2.0
// A plot of stacked series over time. The drawing is stretched to the available room; the text
// around it is not.

import { h } from '../dom.js';
import { axisEnd, timeTicks } from './axes.js';
import { areaPath, linePath, runsOf, stack } from './paths.js';

const WIDTH = 1000;
const HEIGHT = 100;

/**
 * Returns a plot of series over the samples of a history. The axis ends at `top` or above; `unit`
 * formats a value; `line` is a measure whose sum is drawn above the areas.
 *
 * @param {!rest.GpuHistory} history
 * @param {!Array<!page.Series>} series
 * @param {!page.PlotOptions} options
 * @return {!page.Element}
 */
export function plot(history, series, options) {
  const { title, explanation, measure, line, top, unit } = options;
  const sums = stack(series, history, measure);
  const lines = (line && stack(series, history, line).at(-1)) ?? [];
  const end = axisEnd(Math.max(0, ...(sums.at(-1) ?? []), ...lines), top);
  const from = history.nowMillis - history.windowMillis;
  const scale = {
    x: (millis) => Math.max(0, (WIDTH * (millis - from)) / history.windowMillis),
    y: (value) => HEIGHT - Math.min(HEIGHT, (HEIGHT * value) / end),
  };
  return h(
    'figure',
    { class: 'plot', key: title },
    h('figcaption', null, h('b', null, title), ` ${explanation}`),
    h(
      'div',
      { class: 'frame' },
      h('div', { class: 'axis-y', 'aria-hidden': 'true' }, valueTicks(end, unit)),
      drawing(history, series, options, scale, sums, lines),
      h(
        'div',
        { class: 'axis-x', 'aria-hidden': 'true' },
        timeTicks(history).map((millis) =>
          h('span', { key: millis, style: { left: `${scale.x(millis) / 10}%` } }, time(millis)),
        ),
      ),
    ),
  );
}

/**
 * @param {!rest.GpuHistory} history
 * @param {!Array<!page.Series>} series
 * @param {!page.PlotOptions} options
 * @param {!page.PlotScale} scale
 * @param {!Array<!Array<number>>} sums
 * @param {!Array<number>} lines
 * @return {!page.Element}
 */
function drawing(history, series, { title, explanation, words }, scale, sums, lines) {
  const runs = runsOf(history);
  const { samples } = history;
  return h(
    'svg',
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': `${title} ${explanation}: ${words}`,
    },
    [0.25, 0.5, 0.75].map((part) =>
      h('line', { class: 'rule', x1: 0, x2: WIDTH, y1: HEIGHT * part, y2: HEIGHT * part }),
    ),
    timeTicks(history).map((millis) => {
      const x = scale.x(millis);
      return h('line', { class: 'rule', x1: x, x2: x, y1: 0, y2: HEIGHT });
    }),
    series.map((one, at) =>
      h(
        'path',
        {
          key: `area ${one.id}`,
          class: `area colour-${one.colour}`,
          d: runs.map((run) => areaPath(run, samples, scale, sums[at], sums[at - 1])).join(''),
        },
        h('title', null, one.id || 'others'),
      ),
    ),
    lines.length > 0 &&
      h('path', {
        key: 'line',
        class: 'line',
        d: runs.map((run) => linePath(run, samples, scale, lines)).join(''),
      }),
  );
}

/**
 * @param {number} end
 * @param {function(number): string} unit
 * @return {!Array<!page.Element>}
 */
function valueTicks(end, unit) {
  return [0, 0.25, 0.5, 0.75, 1].map((part) =>
    h('span', { key: part, style: { bottom: `${100 * part}%` } }, unit(end * part)),
  );
}

/**
 * @param {number} millis
 * @return {string}
 */
function time(millis) {
  return new Date(millis).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}
