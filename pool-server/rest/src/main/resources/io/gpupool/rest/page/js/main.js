// SPDX-License-Identifier: Apache-2.0
// Starts the page: follows the pool, and draws the view that the address names.

import { askWith } from './api.js';
import { askForToken } from './dialogs/sign-in.js';
import { elementById, patch } from './dom.js';
import { connection, navigation, outage } from './frame.js';
import { follow } from './live.js';
import { learnWho } from './me.js';
import { Pool } from './pool.js';
import { route, VIEWS } from './router.js';

const TICK_MILLIS = 1000;

const main = elementById('main');
let isAsked = false;
let shown = '';

const pool = new Pool(ask);
askWith(askForToken);
const tryNow = follow({
  onState: (state) => pool.setConnection(state),
  onBegin: () => {
    pool.begin();
    // What goes wrong, the stream tells, too.
    learnWho().then(ask, () => {});
  },
  onChange: (change) => pool.apply(change),
});

/**
 * Draws soon, once for all changes until then.
 *
 * @return {void}
 */
function ask() {
  if (!isAsked) {
    isAsked = true;
    requestAnimationFrame(draw);
  }
}

/** @return {void} */
function draw() {
  isAsked = false;
  const { name, id } = route();
  const view = VIEWS[name];
  document.title = `${view.title} · gpupool`;
  patch(elementById('nav'), navigation(pool, name));
  patch(elementById('connection'), connection(pool.connection));
  patch(elementById('outage'), outage(pool, tryNow));
  patch(main, view.draw(pool, { redraw: ask }));
  if (name !== shown) {
    shown = name;
    window.scrollTo(0, 0);
  }
  for (const each of Object.values(VIEWS)) {
    each.open?.(pool, each === view ? id : '');
  }
}

window.addEventListener('hashchange', () => {
  draw();
  main.focus({ preventScroll: true });
});
setInterval(ask, TICK_MILLIS);
draw();
