// SPDX-License-Identifier: Apache-2.0
// A small bar beside a figure: how much is used of what was granted.

import { h } from '../dom.js';

/**
 * Returns a figure with a bar. The text holds the whole information; the bar only illustrates it.
 *
 * @param {number} used
 * @param {number} whole
 * @param {string} text
 * @param {string=} owner
 * @return {!page.Element}
 */
export function meter(used, whole, text, owner = '') {
  const part = whole > 0 ? Math.min(1, used / whole) : 0;
  return h(
    'span',
    { class: `meter ${owner}` },
    h('span', { class: 'figure' }, text),
    h(
      'span',
      { class: 'track', 'aria-hidden': 'true' },
      h('span', { class: used > whole ? 'fill over' : 'fill', style: { width: `${100 * part}%` } }),
    ),
  );
}
