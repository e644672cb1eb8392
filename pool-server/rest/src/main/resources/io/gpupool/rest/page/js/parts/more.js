// SPDX-License-Identifier: Apache-2.0
// The button below a list that shows its first things only.

import { h } from '../dom.js';
import { plural } from '../format.js';

/**
 * Returns the button, or nothing if everything is shown.
 *
 * @param {number} shown
 * @param {number} count
 * @param {string} thing
 * @param {function(): void} show
 * @return {*}
 */
export function more(shown, count, thing, show) {
  return (
    count > shown &&
    h(
      'button',
      { key: 'more', type: 'button', class: 'more', onclick: show },
      `Show more of the ${plural(count, thing)}`,
    )
  );
}
