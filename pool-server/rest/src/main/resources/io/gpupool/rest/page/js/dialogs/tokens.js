// SPDX-License-Identifier: Apache-2.0
// The tokens of a tenant: which there are, new ones, and taking them back.

import { call, list } from '../api.js';
import { h } from '../dom.js';
import { moment } from '../format.js';
import { choice, field } from '../parts/field.js';
import { say } from '../parts/notice.js';
import { confirm, open, openForm } from './dialog.js';

const DAY_MILLIS = 24 * 60 * 60 * 1000;
const ROLES = [
  ['user', 'user: leases GPUs for its tenant'],
  ['read-only', 'read-only: sees the pool'],
  ['admin', 'admin: changes the pool'],
];

/**
 * @param {string} tenant
 * @return {void}
 */
export function showTokens(tenant) {
  /** @type {(!Array<!rest.Token>|undefined)} */
  let tokens;
  let fault = '';
  const dialog = open({
    title: `Tokens of ${tenant}`,
    wide: true,
    draw: (/** !page.Dialog */ { close }) => [
      fault
        ? h('p', { class: 'fault' }, fault)
        : tokens === undefined
          ? h('p', { class: 'muted' }, 'One moment …')
          : tokens.length === 0
            ? h('p', { class: 'muted' }, 'There are none.')
            : h(
                'ul',
                { class: 'list' },
                tokens.map((token) => row(token, load)),
              ),
      h(
        'div',
        { class: 'buttons' },
        h('button', { type: 'button', onclick: () => create(tenant, load) }, 'New token …'),
        h('button', { type: 'button', class: 'primary', onclick: close }, 'Close'),
      ),
    ],
  });

  /** @return {!Promise<void>} */
  async function load() {
    try {
      tokens = await list(`tokens?tenant=${encodeURIComponent(tenant)}`);
    } catch (error) {
      fault = error.message;
    }
    if (dialog.isOpen()) {
      dialog.redraw();
    }
  }
  load();
}

/**
 * @param {!rest.Token} token
 * @param {function(): !Promise<void>} reload
 * @return {!page.Element}
 */
function row(token, reload) {
  return h(
    'li',
    { key: token.id },
    h(
      'div',
      { class: 'grow' },
      h('p', null, h('code', null, token.id), ` ${token.role}`, token.note && `, ${token.note}`),
      h(
        'p',
        { class: 'hint' },
        `made ${moment(token.createdAtMillis)}, ${token.expiresAtMillis > 0 ? `valid until ${moment(token.expiresAtMillis)}` : 'until it is revoked'}`,
      ),
    ),
    h(
      'button',
      {
        type: 'button',
        class: 'danger',
        'aria-label': `Revoke token ${token.id}`,
        onclick: () => revoke(token, reload),
      },
      'Revoke',
    ),
  );
}

/**
 * @param {!rest.Token} token
 * @param {function(): !Promise<void>} reload
 * @return {void}
 */
function revoke(token, reload) {
  confirm({
    title: `Revoke token ${token.id}?`,
    consequence: 'Leases that were asked for with it end at once, and nobody can use it any more.',
    label: 'Revoke',
    submit: async () => {
      await call('DELETE', `tokens/${encodeURIComponent(token.id)}`);
      say(`Token ${token.id} was revoked.`);
      reload();
    },
  });
}

/**
 * @param {string} tenant
 * @param {function(): !Promise<void>} reload
 * @return {void}
 */
function create(tenant, reload) {
  openForm({
    title: `New token of ${tenant}`,
    label: 'Create',
    draw: () => [
      choice({ label: 'Role', name: 'role', options: ROLES, value: 'user', autofocus: true }),
      field({
        label: 'Valid for',
        name: 'days',
        type: 'number',
        min: '0.001',
        step: 'any',
        max: '3650',
        unit: 'days',
        value: '90',
        hint: 'empty: until it is revoked',
      }),
      field({
        label: 'Note',
        name: 'note',
        maxlength: '128',
        autocomplete: 'off',
        hint: 'what it is for',
      }),
    ],
    submit: async (/** !FormData */ data) => {
      const days = Number(data.get('days'));
      const made = await call('POST', 'tokens', {
        body: {
          tenant,
          role: data.get('role'),
          validMillis: Math.round(days * DAY_MILLIS),
          note: String(data.get('note')).trim(),
        },
      });
      reload();
      show(made.token);
    },
  });
}

/**
 * Shows a new token once: the pool keeps only its hash.
 *
 * @param {string} token
 * @return {void}
 */
function show(token) {
  open({
    title: 'The new token',
    draw: (/** !page.Dialog */ { close, redraw }) => [
      h('p', null, 'Keep it now: it is shown this once.'),
      h('code', { class: 'secret' }, token),
      h(
        'div',
        { class: 'buttons' },
        navigator.clipboard &&
          h(
            'button',
            {
              type: 'button',
              onclick: async () => {
                await navigator.clipboard.writeText(token);
                say('The token was copied.');
                redraw();
              },
            },
            'Copy',
          ),
        h('button', { type: 'button', class: 'primary', onclick: close }, 'Close'),
      ),
    ],
  });
}
