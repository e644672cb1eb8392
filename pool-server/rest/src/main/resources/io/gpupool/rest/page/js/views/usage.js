// SPDX-License-Identifier: Apache-2.0
// What the time and memory of each GPU went to in the last hour or day.

import { cards } from '../cards.js';
import { h } from '../dom.js';
import { bytes, percent } from '../format.js';
import { more } from '../parts/more.js';
import { plot } from '../parts/plot.js';
import { Pool } from '../pool.js';
import { MEASURES, average, seriesOf } from '../series.js';
import { historyOf } from '../use-history.js';

const AT_A_TIME = 8;
const WINDOWS = { hour: 'Last hour', day: 'Last day' };
const FIRST = { hour: 'ten seconds', day: 'five minutes' };

let back = 'hour';
let shown = AT_A_TIME;

/**
 * The elements drawn for a history.
 *
 * @type {!WeakMap<!rest.GpuHistory, !Array<*>>}
 */
const drawn = new WeakMap();

export const usage = {
  title: 'Usage',
  /**
   * @param {!Pool} pool
   * @param {!page.DrawContext} context
   * @return {!Array<*>}
   */
  draw(pool, { redraw }) {
    const all = cards(pool);
    return [
      h('div', { class: 'head', key: 'head' }, h('h1', null, 'Usage'), choice(redraw)),
      all.length === 0 &&
        h(
          'p',
          { class: 'empty', key: 'empty' },
          pool.connection.live ? 'The pool has no GPUs.' : 'Waiting for the server …',
        ),
      all.slice(0, shown).map(({ gpu }) => section(gpu, historyOf(gpu, back, redraw))),
      more(shown, all.length, 'GPU', () => {
        shown += AT_A_TIME;
        redraw();
      }),
    ];
  },
};

/**
 * @param {function(): void} redraw
 * @return {!page.Element}
 */
function choice(redraw) {
  return h(
    'div',
    { class: 'choice', role: 'group', 'aria-label': 'How far back' },
    Object.entries(WINDOWS).map(([name, title]) =>
      h(
        'button',
        {
          key: name,
          type: 'button',
          'aria-pressed': String(name === back),
          onclick: () => {
            back = name;
            redraw();
          },
        },
        title,
      ),
    ),
  );
}

/**
 * @param {!rest.Gpu} gpu
 * @param {!page.KnownHistory} known
 * @return {!page.Element}
 */
function section(gpu, { history, fault }) {
  const titleId = `usage-${gpu.server}-${gpu.gpu}`;
  return h(
    'section',
    { key: gpu.uuid, class: 'usage', 'aria-labelledby': titleId },
    h(
      'header',
      null,
      h('h2', { id: titleId }, `GPU ${gpu.gpu} of ${gpu.server}`),
      h('p', { class: 'model', title: gpu.uuid }, gpu.name),
    ),
    fault && h('p', { class: 'muted', key: 'fault' }, `Not known here: ${fault}.`),
    !fault && !history && h('p', { class: 'muted', key: 'wait' }, 'One moment …'),
    history && content(history),
  );
}

/**
 * @param {!rest.GpuHistory} history
 * @return {*}
 */
function content(history) {
  if (history.samples.length === 0) {
    return h(
      'p',
      { class: 'muted', key: 'none' },
      `Nothing is known yet: the first sample comes ${FIRST[history.window]} after the server's start.`,
    );
  }
  if (!drawn.has(history)) {
    const series = seriesOf(history);
    drawn.set(history, [
      h('div', { class: 'plots', key: 'plots' }, plots(history, series)),
      legend(history, series),
    ]);
  }
  return drawn.get(history);
}

/**
 * @param {!rest.GpuHistory} history
 * @param {!Array<!page.Series>} series
 * @return {!Array<!page.Element>}
 */
function plots(history, series) {
  /**
   * @param {!page.Measure} measure
   * @return {number}
   */
  const total = (measure) => series.reduce((sum, one) => sum + average(one, history, measure), 0);
  return [
    plot(history, series, {
      top: 100,
      unit: percent,
      title: 'Used',
      explanation: '% of the GPU’s time; dashed: granted',
      measure: MEASURES.used,
      line: MEASURES.granted,
      words: `${percent(total(MEASURES.used))} on average`,
    }),
    plot(history, series, {
      top: 100,
      unit: percent,
      title: 'Granted',
      explanation: '% of the GPU’s time',
      measure: MEASURES.granted,
      words: `${percent(total(MEASURES.granted))} on average`,
    }),
    plot(history, series, {
      top: 100,
      unit: percent,
      title: 'Waited',
      explanation: '% of the time, each program’s',
      measure: MEASURES.waited,
      words: `${percent(total(MEASURES.waited))} on average`,
    }),
    plot(history, series, {
      title: 'Memory used',
      explanation: `of ${bytes(history.memoryBytes)}; dashed: granted`,
      measure: MEASURES.memory,
      line: MEASURES.grantedMemory,
      top: history.memoryBytes,
      unit: bytes,
      words: `${bytes(total(MEASURES.memory))} on average`,
    }),
  ];
}

/**
 * Returns a table that explains the colours and repeats the plots in figures.
 *
 * @param {!rest.GpuHistory} history
 * @param {!Array<!page.Series>} series
 * @return {!page.Element}
 */
function legend(history, series) {
  if (series.length === 0) {
    return h('p', { class: 'muted', key: 'legend' }, 'Nothing was leased in this time.');
  }
  const heads = ['Used', 'Granted', 'Waited', 'Memory'];
  return h(
    'table',
    { class: 'legend', key: 'legend' },
    h('caption', null, 'On average over the time for which there are samples'),
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        h('th', { scope: 'col' }, 'Lease'),
        h('th', { scope: 'col' }, 'Tenant'),
        heads.map((head) => h('th', { scope: 'col', class: 'number', key: head }, head)),
      ),
    ),
    h(
      'tbody',
      null,
      // The topmost area first.
      [...series].reverse().map((one) => row(history, one)),
    ),
  );
}

/**
 * @param {!rest.GpuHistory} history
 * @param {!page.Series} one
 * @return {!page.Element}
 */
function row(history, one) {
  /**
   * @param {!page.Measure} measure
   * @return {number}
   */
  const mean = (measure) => average(one, history, measure);
  const swatch = h('span', { class: `swatch colour-${one.colour}`, 'aria-hidden': 'true' });
  return h(
    'tr',
    { key: one.id },
    h(
      'th',
      { scope: 'row' },
      swatch,
      one.id === ''
        ? 'others'
        : [h('b', null, one.id), h('span', { class: 'who' }, ` ${one.program} ${one.holder}`)],
    ),
    h('td', { 'data-head': 'Tenant' }, one.tenant || '–'),
    h('td', { class: 'number', 'data-head': 'Used' }, percent(mean(MEASURES.used))),
    h('td', { class: 'number', 'data-head': 'Granted' }, percent(mean(MEASURES.granted))),
    h('td', { class: 'number', 'data-head': 'Waited' }, percent(mean(MEASURES.waited))),
    h('td', { class: 'number', 'data-head': 'Memory' }, bytes(mean(MEASURES.memory))),
  );
}
