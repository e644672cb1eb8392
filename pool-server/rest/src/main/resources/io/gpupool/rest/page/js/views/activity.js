// SPDX-License-Identifier: Apache-2.0
// What has happened: who changed what, as the pool remembers it, and what this page has seen.

import { call } from '../api.js';
import { h } from '../dom.js';
import { clock, moment } from '../format.js';
import { sortable } from '../parts/table.js';
import { Pool } from '../pool.js';

const LINES = 200;

/** @type {(!Array<!rest.AuditLine>|undefined)} */
let lines;
let fault = '';
let upTo = -1;

const audit = sortable({
  name: 'audit',
  key: (/** !rest.AuditLine */ line) => line.id,
  empty: 'Nothing has been changed yet.',
  filter: (/** !rest.AuditLine */ line) => [line.actor, line.action, line.subject, line.detail],
  columns: [
    {
      head: 'At',
      class: 'time',
      order: (/** !rest.AuditLine */ line) => line.atMillis,
      cell: (/** !rest.AuditLine */ line) => h('time', null, moment(line.atMillis)),
    },
    {
      head: 'Who',
      order: (/** !rest.AuditLine */ line) => line.actor,
      cell: (/** !rest.AuditLine */ line) => line.actor,
    },
    {
      head: 'Did',
      order: (/** !rest.AuditLine */ line) => line.action,
      cell: (/** !rest.AuditLine */ line) => line.action,
    },
    {
      head: 'To',
      order: (/** !rest.AuditLine */ line) => line.subject,
      cell: (/** !rest.AuditLine */ line) => line.subject,
    },
    { head: 'Detail', class: 'wide', cell: (/** !rest.AuditLine */ line) => line.detail },
  ],
});

const seen = sortable({
  name: 'events',
  key: (/** !page.Event */ event) => String(event.number),
  empty: 'Nothing has changed since this page was opened.',
  filter: (/** !page.Event */ event) => [event.kind, event.id, event.text],
  columns: [
    {
      head: 'At',
      class: 'time',
      order: (/** !page.Event */ event) => event.number,
      cell: (/** !page.Event */ event) => h('time', null, clock(event.at)),
    },
    {
      head: 'Of',
      order: (/** !page.Event */ event) => event.kind,
      cell: (/** !page.Event */ event) => event.kind,
    },
    { head: 'Event', class: 'wide', cell: (/** !page.Event */ event) => event.text },
  ],
});

export const activity = {
  title: 'Activity',
  /**
   * @param {!Pool} pool
   * @param {!page.DrawContext} context
   * @return {!Array<*>}
   */
  draw(pool, { redraw }) {
    // What changes the pool shows in its events, and is then in the audit log.
    const now = pool.events[0]?.number ?? 0;
    if (pool.connection.live && now !== upTo) {
      upTo = now;
      load(redraw);
    }
    return [
      h('div', { class: 'head', key: 'head' }, h('h1', null, 'Activity')),
      h(
        'section',
        { key: 'events' },
        h('h2', null, 'Since this page was opened'),
        seen(pool.events, redraw),
      ),
      h(
        'section',
        { key: 'audit' },
        h('h2', null, 'Audit log'),
        fault
          ? h('p', { class: 'empty' }, fault)
          : lines === undefined
            ? h('p', { class: 'empty' }, 'One moment …')
            : audit(lines, redraw),
      ),
    ];
  },
};

/**
 * @param {function(): void} redraw
 * @return {!Promise<void>}
 */
async function load(redraw) {
  try {
    lines = (await call('GET', `audit?limit=${LINES}`)).items;
    fault = '';
  } catch (error) {
    fault = error.message;
  }
  redraw();
}
