// SPDX-License-Identifier: Apache-2.0
// A plot of what follows each other in time, stacked. The drawing is stretched to the room there is,
// the words around it are not.

import { h } from '../dom.js';

const WIDTH = 1000;
const HEIGHT = 100;

/** Ticks of the time: how far apart, by how long the time is. */
const TICKS = [
  [2 * 3600e3, 600e3],
  [Infinity, 4 * 3600e3],
];

/**
 * Draws series over the samples of a history. `top` is where the axis ends, at the least; `unit` puts
 * a value of it in words; `line` is a measure whose sum is drawn above the areas.
 */
export function plot({ title, explanation, history, series, measure, line, top, unit, words }) {
  const from = history.nowMillis - history.windowMillis;
  const x = (millis) => Math.max(0, (WIDTH * (millis - from)) / history.windowMillis);
  const sums = stack(series, history, measure);
  const lines = line && stack(series, history, line).at(-1);
  const highest = Math.max(0, ...(sums.at(-1) ?? []), ...(lines ?? []));
  const end = highest <= 1.1 * top ? top : roundUp(highest);
  const y = (value) => HEIGHT - Math.min(HEIGHT, (HEIGHT * value) / end);
  const runs = runsOf(history);
  return h(
    'figure',
    { class: 'plot', key: title },
    h('figcaption', null, h('b', null, title), ` ${explanation}`),
    h(
      'div',
      { class: 'frame' },
      h('div', { class: 'axis-y', 'aria-hidden': 'true' }, valueTicks(end, unit)),
      h(
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
        timeTicks(history).map((millis) =>
          h('line', { class: 'rule', x1: x(millis), x2: x(millis), y1: 0, y2: HEIGHT }),
        ),
        series.map((one, at) =>
          h(
            'path',
            {
              key: `area ${one.id}`,
              class: `area colour-${one.colour}`,
              d: runs.map((run) => area(run, history, x, y, sums[at], sums[at - 1])).join(''),
            },
            h('title', null, one.id || 'others'),
          ),
        ),
        lines &&
          h('path', {
            key: 'line',
            class: 'line',
            d: runs.map((run) => steps(run, history, x, y, lines, 'M')).join(''),
          }),
      ),
      h(
        'div',
        { class: 'axis-x', 'aria-hidden': 'true' },
        timeTicks(history).map((millis) =>
          h('span', { key: millis, style: { left: `${x(millis) / 10}%` } }, time(millis)),
        ),
      ),
    ),
  );
}

/** For each series the sums of it and of all before it, sample by sample. */
function stack(series, history, measure) {
  const sums = [];
  series.forEach((one, at) => {
    sums.push(
      history.samples.map((_, number) => (sums[at - 1]?.[number] ?? 0) + one.of(number, measure)),
    );
  });
  return sums;
}

/** Samples without a gap between them, as their first and last numbers. */
function runsOf({ samples, sampleMillis }) {
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

/** A sample begins where the one before it ended, so that rounding leaves no cracks. */
function begin(run, number, samples) {
  return number === run[0]
    ? samples[number].atMillis - samples[number].millis
    : samples[number - 1].atMillis;
}

function steps(run, { samples }, x, y, values, first, isBack = false) {
  const points = [];
  for (let number = run[0]; number <= run[1]; number++) {
    const height = y(values?.[number] ?? 0).toFixed(2);
    points.push(`${x(begin(run, number, samples)).toFixed(1)} ${height}`);
    points.push(`${x(samples[number].atMillis).toFixed(1)} ${height}`);
  }
  return first + (isBack ? points.reverse() : points).join('L');
}

function area(run, history, x, y, tops, bottoms) {
  return `${steps(run, history, x, y, tops, 'M')}${steps(run, history, x, y, bottoms, 'L', true)}Z`;
}

function valueTicks(end, unit) {
  return [0, 0.25, 0.5, 0.75, 1].map((part) =>
    h('span', { key: part, style: { bottom: `${100 * part}%` } }, unit(end * part)),
  );
}

function timeTicks({ nowMillis, windowMillis }) {
  const apart = TICKS.find(([longest]) => windowMillis <= longest)[1];
  // Of the day where the page is, not of Greenwich.
  const shift = new Date(nowMillis).getTimezoneOffset() * 60e3;
  const ticks = [];
  const from = nowMillis - windowMillis;
  for (let at = Math.ceil((from - shift) / apart) * apart + shift; at <= nowMillis; at += apart) {
    ticks.push(at);
  }
  return ticks;
}

function time(millis) {
  return new Date(millis).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}

/** 1, 2 or 5 times a power of ten. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find((digit) => digit * power >= value);
}
