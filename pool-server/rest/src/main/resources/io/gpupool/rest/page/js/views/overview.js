// SPDX-License-Identifier: Apache-2.0
// The pool at a glance: what there is, server by server, and who has it.

import { byName, cards, sharesOf } from '../cards.js';
import { DECLARED } from '../declared.js';
import { h } from '../dom.js';
import { bytes, percent, plural } from '../format.js';
import { facts } from '../parts/columns.js';
import { more } from '../parts/more.js';
import { Pool } from '../pool.js';
import { gpuCard } from './gpu-card.js';
import { serverActions } from './server-actions.js';
import { isFound } from './server-filter.js';

const AT_A_TIME = 24;

let shown = AT_A_TIME;
let text = '';

export const overview = {
  title: 'Pool',
  /**
   * @param {!Pool} pool
   * @param {!page.DrawContext} context
   * @return {!Array<*>}
   */
  draw(pool, { redraw }) {
    const all = cards(pool);
    const servers = pool.servers().sort((a, b) => byName(a.name, b.name));
    const found = servers.filter((server) => isFound(server, all, text));
    return [
      h(
        'div',
        { class: 'head', key: 'head' },
        h('h1', null, 'Pool'),
        servers.length > 1 && filter(redraw),
      ),
      pool.asOf > 0 && summary(pool, all),
      servers.length === 0 && h('p', { class: 'empty', key: 'empty' }, emptiness(pool)),
      found.slice(0, shown).map((server) => serverSection(pool, server, all)),
      more(shown, found.length, 'server', () => {
        shown += AT_A_TIME;
        redraw();
      }),
    ];
  },
};

/**
 * @param {!Pool} pool
 * @return {string}
 */
function emptiness(pool) {
  return pool.connection.live ? 'The pool has no servers.' : 'Waiting for the server …';
}

/**
 * @param {function(): void} redraw
 * @return {!Array<*>}
 */
function filter(redraw) {
  return [
    h('label', { class: 'hidden', for: 'pool-filter' }, 'Filter servers'),
    h('input', {
      id: 'pool-filter',
      type: 'search',
      placeholder: 'Filter servers',
      oninput: (/** !Event */ event) => {
        const input = /** @type {!HTMLInputElement} */ (event.target);
        text = input.value.trim().toLowerCase();
        shown = AT_A_TIME;
        redraw();
      },
    }),
  ];
}

/**
 * @param {!Pool} pool
 * @param {!Array<!page.Card>} all
 * @return {!page.Element}
 */
function summary(pool, all) {
  const uses = all.flatMap(sharesOf).map((share) => share.use);
  /**
   * @param {!Array<T>} list
   * @param {function(T): number} of
   * @return {number}
   * @template T
   */
  const sum = (list, of) => list.reduce((total, thing) => total + of(thing), 0);
  const memory = sum(all, (card) => card.gpu.memoryBytes);
  const leased = sum(uses, (use) => use.grant.memoryBytes);
  /**
   * @param {function(!rest.GrantUse): number} of
   * @return {number}
   */
  const time = (of) => (all.length === 0 ? 0 : sum(uses, of) / all.length);
  const figures = [
    ['GPUs', String(all.length), plural(pool.servers().length, 'server')],
    [
      'Memory leased',
      bytes(leased),
      `of ${bytes(memory)}, ${bytes(sum(uses, (use) => use.usedMemoryBytes))} used`,
    ],
    [
      'Compute leased',
      percent(time((use) => use.grant.computePercent)),
      `${percent(time((use) => use.usedComputePercent))} used`,
    ],
    ['Leases', String(pool.leases().length), plural(pool.sessions().length, 'session')],
    ['Waiting', String(pool.queue().length), pool.queue().length === 1 ? 'request' : 'requests'],
  ];
  return h(
    'dl',
    { class: 'summary', key: 'summary' },
    figures.map(([term, figure, more]) =>
      h(
        'div',
        { key: term },
        h('dt', null, term),
        h('dd', null, h('b', null, figure), ' ', h('span', null, more)),
      ),
    ),
  );
}

/**
 * @param {!Pool} pool
 * @param {!rest.Server} server
 * @param {!Array<!page.Card>} all
 * @return {!page.Element}
 */
function serverSection(pool, server, all) {
  const titleId = `server-${server.name}`;
  return h(
    'section',
    { key: `server ${server.name}`, class: 'server', 'aria-labelledby': titleId },
    h(
      'header',
      null,
      h('h2', { id: titleId }, server.name),
      h(
        'p',
        { class: 'facts' },
        [
          `${server.backend} ${server.version}`,
          server.address,
          ...facts(DECLARED.servers, server, (/** string */ field) =>
            pool.age('servers', server.name, field),
          ),
          plural(server.spareWorkers, 'spare worker'),
        ].join(' · '),
      ),
      serverActions(server),
    ),
    h(
      'div',
      { class: 'gpus' },
      all.filter((card) => card.gpu.server === server.name).map((card) => gpuCard(pool, card)),
    ),
  );
}
