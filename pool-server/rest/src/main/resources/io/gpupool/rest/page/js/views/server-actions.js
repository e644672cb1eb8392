// SPDX-License-Identifier: Apache-2.0
// Whether a server grants leases, and taking it out of service and back.

import { drain, uncordon } from '../dialogs/drain.js';
import { h } from '../dom.js';
import { moment } from '../format.js';
import { mayAdminister } from '../me.js';

/**
 * Returns the state of a server and its buttons.
 *
 * @param {!rest.Server} server
 * @return {!page.Element}
 */
export function serverActions(server) {
  const { state } = server;
  return h(
    'div',
    { class: 'server-state' },
    server.development &&
      h('span', { key: 'mode', class: 'badge' }, 'development mode: open to all'),
    state !== 'ready' && h('span', { key: 'state', class: 'badge' }, words(server)),
    mayAdminister() && action(server),
  );
}

/**
 * @param {!rest.Server} server
 * @return {*}
 */
function action(server) {
  const { state, name } = server;
  return state === 'ready'
    ? button('Drain …', `Drain server ${name}`, () => drain(server))
    : state !== 'stopping' && button('Uncordon', `Uncordon server ${name}`, () => uncordon(server));
}

/**
 * @param {!rest.Server} server
 * @return {string}
 */
function words({ state, drainDeadlineAtMillis }) {
  return state === 'draining' && drainDeadlineAtMillis > 0
    ? `draining until ${moment(drainDeadlineAtMillis)}`
    : state;
}

/**
 * @param {string} label
 * @param {string} name
 * @param {function(): *} onclick
 * @return {!page.Element}
 */
function button(label, name, onclick) {
  return h('button', { key: label, type: 'button', onclick, 'aria-label': name }, label);
}
