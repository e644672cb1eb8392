// SPDX-License-Identifier: Apache-2.0
// What surrounds every view: where one can go, and whether the page is up to date.

import { hasToken, setToken } from './api.js';
import { h } from './dom.js';
import { clock, moment } from './format.js';
import { whoIsIn } from './me.js';
import { Pool } from './pool.js';
import { VIEWS } from './router.js';

const SOON_MILLIS = 24 * 3600 * 1000;
/** @type {!Object<string, function(!Pool): number>} */
const COUNTED = {
  leases: (pool) => pool.leases().length,
  queue: (pool) => pool.queue().length,
  sessions: (pool) => pool.sessions().length,
};

/**
 * Returns the links to the views.
 *
 * @param {!Pool} pool
 * @param {string} current
 * @return {!page.Element}
 */
export function navigation(pool, current) {
  return h(
    'ul',
    null,
    Object.keys(VIEWS).map((name) =>
      h(
        'li',
        { key: name },
        h(
          'a',
          { href: `#/${name}`, 'aria-current': name === current && 'page' },
          VIEWS[name].title,
          name in COUNTED && number(COUNTED[name](pool)),
        ),
      ),
    ),
  );
}

/**
 * @param {number} count
 * @return {*}
 */
function number(count) {
  return count > 0 && h('span', { class: 'count' }, ` ${count}`);
}

/**
 * Returns the state of the connection, and the signed-in user.
 *
 * @param {!page.Connection} connection
 * @return {!Array<*>}
 */
export function connection({ live }) {
  return [
    h(
      'span',
      { class: live ? 'state good' : 'state bad', role: 'status' },
      h('span', { class: 'dot', 'aria-hidden': 'true' }),
      live ? 'Live' : 'Not connected',
    ),
    hasToken() && who(whoIsIn()),
    hasToken() && h('button', { type: 'button', class: 'quiet', onclick: signOut }, 'Sign out'),
  ];
}

/**
 * @param {(!rest.Me|undefined)} me
 * @return {*}
 */
function who(me) {
  return (
    me &&
    h(
      'span',
      { class: 'me', title: `${me.name}, ${until(me)}` },
      h('b', null, me.tenant),
      ` ${me.role}`,
      isSoon(me) && ` ${until(me)}`,
    )
  );
}

/**
 * @param {!rest.Me} me
 * @return {boolean}
 */
function isSoon({ expiresAtMillis }) {
  return expiresAtMillis > 0 && expiresAtMillis - Date.now() < SOON_MILLIS;
}

/**
 * @param {!rest.Me} me
 * @return {string}
 */
function until({ expiresAtMillis }) {
  return expiresAtMillis > 0 ? `until ${moment(expiresAtMillis)}` : 'until the token is revoked';
}

/**
 * Forgets the token, and everything that was shown with it.
 *
 * @return {void}
 */
function signOut() {
  setToken('');
  location.reload();
}

/**
 * Returns the banner that tells of a lost connection, if it is lost.
 *
 * @param {!Pool} pool
 * @param {function(): void} tryNow
 * @return {?page.Element}
 */
export function outage(pool, tryNow) {
  const { live, reason, againAt } = pool.connection;
  if (live || againAt === 0) {
    return null;
  }
  const seconds = Math.ceil((againAt - Date.now()) / 1000);
  return h(
    'div',
    { class: 'outage' },
    h(
      'p',
      null,
      h('strong', null, 'Not connected: '),
      `${reason}. `,
      pool.asOf > 0 && `What is shown was so at ${clock(pool.asOf)}. `,
      seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again.',
    ),
    h('button', { type: 'button', onclick: tryNow }, 'Try now'),
  );
}
