// SPDX-License-Identifier: Apache-2.0
// Short words on what was done, or what went wrong, in a corner of the page.

import { h, patch } from '../dom.js';

const SHOWN_MILLIS = 6000;

let notices = [];
let last = 0;

/** Says that something was done; what is wrong stays until it is closed. */
export function say(text, { isFault = false } = {}) {
  const number = ++last;
  notices.push({ number, text, isFault });
  draw();
  if (!isFault) {
    setTimeout(() => forget(number), SHOWN_MILLIS);
  }
}

function forget(number) {
  notices = notices.filter((notice) => notice.number !== number);
  draw();
}

function draw() {
  patch(
    document.getElementById('notices'),
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
