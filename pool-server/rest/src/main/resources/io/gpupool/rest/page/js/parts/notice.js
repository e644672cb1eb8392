// SPDX-License-Identifier: Apache-2.0
// Short words on what was done, or what went wrong, in a corner of the page.

import { elementById, h, patch } from '../dom.js';

const SHOWN_MILLIS = 6000;

/** @type {!Array<{number: number, text: string, isFault: boolean}>} */
let notices = [];
let last = 0;

/**
 * Shows a message for some seconds; an error stays until it is closed.
 *
 * @param {string} text
 * @param {{isFault: boolean}=} options
 * @return {void}
 */
export function say(text, { isFault = false } = {}) {
  const number = ++last;
  notices.push({ number, text, isFault });
  draw();
  if (!isFault) {
    setTimeout(() => forget(number), SHOWN_MILLIS);
  }
}

/**
 * @param {number} number
 * @return {void}
 */
function forget(number) {
  notices = notices.filter((notice) => notice.number !== number);
  draw();
}

/** @return {void} */
function draw() {
  patch(
    elementById('notices'),
    notices.map(({ number, text, isFault }) =>
      h(
        'div',
        { key: String(number), class: isFault ? 'notice fault' : 'notice' },
        h('p', null, text),
        h(
          'button',
          {
            type: 'button',
            class: 'quiet',
            'aria-label': 'Close this message',
            onclick: () => forget(number),
          },
          '×',
        ),
      ),
    ),
  );
}
