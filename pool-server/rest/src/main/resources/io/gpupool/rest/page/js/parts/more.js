// SPDX-License-Identifier: Apache-2.0
// The button below a list that shows its first things only.

import { h } from '../dom.js';
import { plural } from '../format.js';

/** Shows more of so many things when it is pressed; nothing if all are shown. */
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
